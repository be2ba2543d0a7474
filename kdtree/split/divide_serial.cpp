#include "kdtree/split/divide_serial.h"

#include "kdtree/model/clip.cuh"

namespace heapwood::kdtree {
namespace {

/// divide_block for an axis that the compiler knows, so that nothing is chosen by it.
template <unsigned kAxis>
inline void divide_along(const Triangle* triangles, bool clip, const Reference* references,
                         std::uint32_t n, const Split& split, Reference* (&to)[2]) {
    const SerialSides sides(references, n, kAxis, split.position, split.side);
    // Triangles lie anywhere in memory: they come while other references are copied.
    for (const unsigned i : sides.both) __builtin_prefetch(triangles + references[i].primitive);
    for (const unsigned i : sides.left) *to[0]++ = references[i];
    for (const unsigned i : sides.right) *to[1]++ = references[i];
    for (const unsigned i : sides.both) {
        *to[0] = *to[1] = references[i];
        cut(triangles, clip, kAxis, split.position, *to[0]++, *to[1]++);
    }
}

}  // namespace

void divide_block(const Triangle* triangles, bool clip, const Reference* references,
                  std::uint32_t n, const Split& split, Reference* (&to)[2], CpuVersion version) {
    run_version(version, [&] {
        switch (split.axis) {
            case 0:
                return divide_along<0>(triangles, clip, references, n, split, to);
            case 1:
                return divide_along<1>(triangles, clip, references, n, split, to);
            default:
                return divide_along<2>(triangles, clip, references, n, split, to);
        }
    });
}

}  // namespace heapwood::kdtree
