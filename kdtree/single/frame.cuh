/// @file
/// A scene in the memory of the machine that builds its tree, and how builds read its triangles.
#pragma once

#include <cstdint>
#include <string>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/model/reference.cuh"
#include "kdtree/single/build_state.cuh"
#include "scenes/glm.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// Indexed triangles where the machine's kernels read them: on a GPU, or on the host for a CPU.
/// Owns nothing. The positions may change between builds, and so may all else.
struct Frame {
    const glm::vec3* positions = nullptr;
    std::uint32_t position_count = 0;
    const glm::uvec3* triangles = nullptr;
    std::uint32_t triangle_count = 0;
    /// A box that holds all triangles: the cell of the root. That of Scene::bounds gives the
    /// scene's tree; a larger one, such as a box around a whole animation, the tree of a scene with
    /// these bounds. The host has to know it before the build: Builder::rebuild finds it where it
    /// is empty, which takes a kernel and a wait, and Builder::enqueue needs it.
    scenes::Bounds bounds;
};

/// Widens a box by triangles `begin`, `begin + step`, ... of a frame. Corners that are not finite,
/// or that do not exist, widen nothing: the build finds them. Relaxed, as gather_frame.
HEAPWOOD_INLINE void widen_box(const Frame& frame, std::uint32_t begin, std::uint32_t step,
                               WideningBox& box) {
    WideningBox mine{};
    for (std::uint64_t i = begin; i < frame.triangle_count; i += step) {
        const glm::uvec3 corners = frame.triangles[i];
        for (unsigned c = 0; c < 3; ++c) {
            const std::uint32_t corner = c == 0 ? corners.x : c == 1 ? corners.y : corners.z;
            if (corner >= frame.position_count) continue;
            for (unsigned axis = 0; axis < 3; ++axis) {
                const float x = component(frame.positions[corner], axis) + 0.0F;
                if (!(x - x == 0)) continue;
                const std::uint32_t bits = platform::float_ordered_bits(x);
                if (bits > mine.hi[axis]) mine.hi[axis] = bits;
                if (~bits > mine.lo[axis]) mine.lo[axis] = ~bits;
            }
        }
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
        platform::AtomicRef(box.lo[axis]).max_relaxed(mine.lo[axis]);
        platform::AtomicRef(box.hi[axis]).max_relaxed(mine.hi[axis]);
    }
}

/// The box; lo > hi on an axis without a finite corner.
inline scenes::Bounds bounds_of(const WideningBox& box) {
    scenes::Bounds bounds;
    for (unsigned axis = 0; axis < 3; ++axis) {
        if (box.hi[axis] == 0) continue;
        set_component(bounds.lo, axis, platform::ordered_bits_float(~box.lo[axis]));
        set_component(bounds.hi, axis, platform::ordered_bits_float(box.hi[axis]));
    }
    return bounds;
}

/// What is wrong with a frame: bits of BuildState::faults.
enum FrameFault : std::uint32_t {
    kOutsideBounds = 1,  ///< a coordinate that is not finite, or outside the box
    kNoSuchPosition = 2,
    kTooFine = 4,  ///< normalising the frame would change a coordinate
};

/// A sentence on these faults.
std::string explain_faults(std::uint32_t faults);

/// Triangle `number` of a frame, multiplied by `scale`, with +0 for -0. Where it is faulty it
/// becomes a point in the lowest corner of the box, so that a build ends, and `faults` gets bits.
HEAPWOOD_INLINE Triangle frame_triangle(const Frame& frame, float scale, std::uint32_t number,
                                        std::uint32_t& faults) {
    const glm::uvec3 corners = frame.triangles[number];
    const glm::vec3& lo = frame.bounds.lo;
    const glm::vec3& hi = frame.bounds.hi;
    glm::vec3 at[3];
    std::uint32_t wrong = 0;
    for (unsigned i = 0; i < 3; ++i) {
        const std::uint32_t corner = i == 0 ? corners.x : i == 1 ? corners.y : corners.z;
        at[i] = lo;
        if (corner >= frame.position_count) {
            wrong |= kNoSuchPosition;
            continue;
        }
        for (unsigned axis = 0; axis < 3; ++axis) {
            const float x = component(frame.positions[corner], axis) + 0.0F;
            // No comparison holds of what is not a number.
            const bool inside = x >= component(lo, axis) && x <= component(hi, axis);
            if (!inside) wrong |= kOutsideBounds;
            if (inside && x * scale * (1 / scale) != x) wrong |= kTooFine;
            set_component(at[i], axis, x);
        }
    }
    faults |= wrong;
    if (wrong != 0) at[0] = at[1] = at[2] = lo;
    return {at[0] * scale, 0, at[1] * scale, 0, at[2] * scale, 0};
}

/// Reads triangles `begin` to `end`, `step` apart, into `to`; `state` gets the faults. Relaxed: a
/// kernel, or the threads, end before anybody asks.
HEAPWOOD_INLINE void gather_frame(const Frame& frame, float scale, std::uint32_t begin,
                                  std::uint32_t step, Triangle* to, BuildState& state) {
    std::uint32_t faults = 0;
    for (std::uint64_t i = begin; i < frame.triangle_count; i += step) {
        to[i] = frame_triangle(frame, scale, static_cast<std::uint32_t>(i), faults);
    }
    if (faults != 0) platform::AtomicRef(state.faults).set_relaxed(faults);
}

}  // namespace heapwood::kdtree
