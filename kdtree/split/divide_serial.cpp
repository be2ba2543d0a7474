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
    // A compiler cannot know that no reference is written over `to`. So these are copies.
    Reference* left = to[0];
    Reference* right = to[1];
    for (const unsigned i : sides.left) *left++ = references[i];
    for (const unsigned i : sides.right) *right++ = references[i];
    for (const unsigned i : sides.both) {
        *left = *right = references[i];
        cut(triangles, clip, kAxis, split.position, *left++, *right++);
    }
    to[0] = left;
    to[1] = right;
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
