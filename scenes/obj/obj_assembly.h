/// @file
/// An OBJ made of its pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "scenes/obj/obj_piece.h"
#include "scenes/scene.h"

namespace heapwood::scenes {

/// Puts pieces together, which may be done in any order. Says of a file that is wrong what one
/// reader of the whole would: what is wrong on the first line. Not for several threads at once.
class ObjAssembly {
public:
    ObjAssembly(std::string path, const ObjLimits& limits)
        : path_(std::move(path)), limits_(limits) {}

    /// The number of the piece that is read next.
    std::size_t begin();
    /// Takes the piece of a number.
    void end(std::size_t number, ObjPiece&& piece);
    /// Whether the file is known to be wrong, so that no more of it need be read.
    bool refused() const { return refused_; }

    /// The scene, on up to `threads` threads (0: one a core). All pieces are there; nothing is
    /// left.
    /// @throws SceneError, or what a piece failed with.
    Scene take(unsigned threads);

private:
    struct Placed {
        std::optional<ObjPiece> piece;
        std::uint64_t first_vertex = 0;
        std::uint64_t first_triangle = 0;
        std::uint64_t first_line = 0;  ///< lines before it
    };

    void settle(Placed& placed);
    [[noreturn]] void fail(std::uint64_t line, const std::string& message) const;
    void check() const;
    void check_used(const Scene& scene) const;
    void copy_to(Scene& scene);

    std::string path_;
    ObjLimits limits_;
    std::deque<Placed> pieces_;
    std::size_t settled_ = 0;  ///< pieces from the first one whose places are known
    std::uint64_t vertices_ = 0;
    std::uint64_t triangles_ = 0;
    std::uint64_t lines_ = 0;
    bool refused_ = false;
};

}  // namespace heapwood::scenes
