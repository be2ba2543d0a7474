/// @file
/// A piece of an OBJ, read without the others.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "scenes/glm.h"
#include "scenes/limits.h"
#include "scenes/obj/obj_filter.h"
#include "scenes/obj/statement_lines.h"
#include "scenes/obj/text_cutter.h"

namespace heapwood::scenes {

/// How large an OBJ may be.
struct ObjLimits {
    std::uint64_t vertices = std::numeric_limits<std::int32_t>::max();  ///< that indices can name
    std::uint64_t triangles = kMaxTriangles;

    LineFault too_many_vertices(std::uint64_t line) const;
    LineFault too_many_triangles(std::uint64_t line) const;
};

/// What stands in a piece. Its lines count from 1, its vertices and triangles from 0. What its
/// indices mean is known with the vertices before it, which can be cut into triangles with all.
struct ObjPiece {
    /// A vertex with a coordinate that is not finite. The piece has it in the origin.
    struct UnusableVertex {
        std::uint64_t vertex;
        std::uint64_t line;
        std::string spelt;  ///< the coordinate, in quotes; empty: a number that is too large
    };
    /// An index that counts backwards, beyond the first vertex of the piece.
    struct Reach {
        std::int64_t vertex;   ///< that it names, from the piece's first one: negative
        std::uint64_t before;  ///< vertices of the piece before it
        std::uint64_t line;
    };

    std::vector<glm::vec3> positions;
    /// As the fan from a polygon's first corner. The bits of the indices are those of the file's,
    /// as int: from 1, or backwards from -1.
    std::vector<glm::uvec3> triangles;
    StatementLines vertex_lines;
    StatementLines face_lines;  ///< the items are triangles
    std::vector<UnusableVertex> unusable;
    std::vector<Reach> reaches;      ///< each reaches further than those before
    std::int32_t largest_index = 0;  ///< of those that count from 1
    std::uint64_t largest_line = 0;  ///< the first one that has it
    std::uint64_t lines = 0;         ///< number of lines; those up to a fault
    std::uint64_t unknown_line = 0;  ///< as ObjFilter has it
    std::string unknown_text;
    std::optional<LineFault> fault;  ///< what is wrong behind what has been read
    std::exception_ptr failure;      ///< likewise, if that is no line
};

/// Reads a piece up to its end or its first fault. Whatever goes wrong is noted in the piece.
ObjPiece read_piece(const ObjText& text, const ObjLimits& limits);

}  // namespace heapwood::scenes
