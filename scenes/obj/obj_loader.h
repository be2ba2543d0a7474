/// @file
/// Wavefront OBJ files.
#pragma once

#include <cstddef>
#include <string>

#include "scenes/obj/obj_piece.h"
#include "scenes/scene.h"

namespace heapwood::scenes {

/// How an OBJ is read; what comes of it does not depend on the pieces.
struct ObjReading {
    /// Of text that a thread reads at a time: some 0.5 ms of work, a thread starts in 0.01 ms.
    std::size_t piece_bytes = std::size_t{128} << 10;
    ObjLimits limits = {};
};

/// Reads the vertices and faces of a Wavefront OBJ, plain or compressed with xz or gzip, and
/// finishes the scene.
///
/// Accepted: polygons (as a fan of triangles from fan_corner()), indices counted from the front or
/// the back, also of vertices that follow later, texture and normal indices (not looked up), vertex
/// weights and colours, groups, `fo` for `f`, lines continued with `\`, LF, CRLF and CR. Material
/// libraries are never opened. Vertices that no face uses are kept.
///
/// Pieces of the file go to up to `threads` threads (0: one a core), as they are read or
/// decompressed.
///
/// @throws SceneError, with the line, for a coordinate that is not a number or not finite in
/// single precision, a wrong number of coordinates, an index that is 0, not a number or out of
/// range, a face of fewer than three vertices, more than `reading.limits` allow; and without one
/// for a file that cannot be read or holds no triangle. Faults are found as by one reader from the
/// first line to the last.
Scene load_obj(const std::string& path, unsigned threads = 0, const ObjReading& reading = {});

}  // namespace heapwood::scenes
