/// @file
/// Batches of distances: the CPU's half, and the choice between the two.
#include "kdtree/distance/distance_batch.h"

#include <algorithm>
#include <vector>

#include "allocators/platform/for_chunks.h"
#include "allocators/platform/threads.h"
#include "kdtree/distance/distance_work.cuh"
#include "kdtree/rays/ray_batch_device.h"

namespace heapwood::kdtree {
namespace {

using allocators::Buffer;
using allocators::Place;

/// Points that a thread takes at a time, at least and at most.
constexpr std::uint64_t kLeast = 256;
constexpr std::uint64_t kMost = 1 << 14;

/// The bits of a number below 2^10, each with two zeros behind it.
std::uint64_t spread(std::uint64_t bits) {
    bits = (bits | bits << 16) & 0x030000FFU;
    bits = (bits | bits << 8) & 0x0300F00FU;
    bits = (bits | bits << 4) & 0x030C30C3U;
    return (bits | bits << 2) & 0x09249249U;
}

/// The numbers of some points, so that neighbours follow one another: along a Z-order curve through
/// twice the tree's box.
std::vector<std::uint64_t> in_order(const VectorArray& points, std::uint64_t begin,
                                    std::uint64_t end, const Box& bounds) {
    const auto cell = [](float at, float lo, float hi) {
        const float part = (at - lo) / (hi - lo) * 512 + 256;
        return spread(static_cast<std::uint64_t>(lesser_number(greater_number(0, part), 1023)));
    };
    std::vector<std::uint64_t> order(end - begin);
    for (std::uint64_t i = begin; i < end; ++i) {
        const glm::vec3 p = points.at(i);
        const std::uint64_t curve = cell(p.x, bounds.lo.x, bounds.hi.x) << 2 |
                                    cell(p.y, bounds.lo.y, bounds.hi.y) << 1 |
                                    cell(p.z, bounds.lo.z, bounds.hi.z);
        order[i - begin] = curve << 32 | (i - begin);
    }
    std::ranges::sort(order);
    for (std::uint64_t& next : order) next = begin + (next & 0xFFFFFFFFU);
    return order;
}

/// On a CPU a thread answers neighbouring points one after another: the tree's parts around them
/// are then in its cache, and each walk begins with what the one before found.
template <class Work>
void run(const RayTree& tree, std::uint64_t count, const Work& work, const BatchOptions& options) {
    if (tree.place() == Place::device) return detail::device_distances(count, work, options);
    const std::uint64_t shares = 4 * std::uint64_t{platform::thread_count(options.threads)};
    const std::uint64_t chunk = std::clamp(count / shares, kLeast, kMost);
    platform::for_chunks(
        count, chunk, options.threads, [&](std::uint64_t begin, std::uint64_t end) {
            if (options.stop.stop_requested()) return;
            if constexpr (requires { work.points; }) {
                std::uint32_t near = Nearest::kNone;
                for (const std::uint64_t i : in_order(work.points, begin, end, tree.view().bounds))
                    work(i, &near);
            } else {
                for (std::uint64_t i = begin; i < end; ++i) work(i);
            }
        });
}

}  // namespace

void closest_points(const RayTree& tree, const VectorArray& points, std::uint64_t count,
                    const NumberArray& most, const NearestArrays& to, const BatchOptions& options) {
    run(tree, count, detail::FindNearest{tree.view(), points, most, to}, options);
}

void signed_distances(const RayTree& tree, const SignView& signs, const VectorArray& points,
                      std::uint64_t count, float* to, const BatchOptions& options) {
    run(tree, count, detail::FindSigned{tree.view(), signs, points, to}, options);
}

void contain(const RayTree& tree, const SignView& signs, const VectorArray& points,
             std::uint64_t count, bool* to, const BatchOptions& options) {
    run(tree, count, detail::FindInside{tree.view(), signs, points, to}, options);
}

template <class Regions>
void any_in(const RayTree& tree, const Regions& regions, std::uint64_t count, bool* to,
            const BatchOptions& options) {
    run(tree, count, detail::FindAny<Regions>{tree.view(), regions, to}, options);
}

template <class Regions>
void count_in(const RayTree& tree, const Regions& regions, std::uint64_t count, std::uint32_t* to,
              const BatchOptions& options) {
    run(tree, count, detail::FindCount<Regions>{tree.view(), regions, to}, options);
}

template <class Regions>
void list_in(const RayTree& tree, const Regions& regions, std::uint64_t count,
             const std::uint64_t* offsets, std::uint32_t* triangles, const BatchOptions& options) {
    run(tree, count, detail::FindList<Regions>{tree.view(), regions, offsets, triangles}, options);
}

template <class Regions>
TriangleLists all_in(const RayTree& tree, const Regions& regions, std::uint64_t count,
                     const BatchOptions& options) {
    const Buffer counts(tree.place(), count * sizeof(std::uint32_t));
    count_in(tree, regions, count, counts.as<std::uint32_t>(), options);
    if (options.stop.stop_requested()) return {};
    TriangleLists lists;
    lists.offsets = Buffer(tree.place(), (count + 1) * sizeof(std::uint64_t));
    auto* offsets = lists.offsets.as<std::uint64_t>();
    lists.total = offsets_of(tree, counts.as<std::uint32_t>(), count, offsets, options);
    lists.triangles = Buffer(tree.place(), lists.total * sizeof(std::uint32_t));
    list_in(tree, regions, count, offsets, lists.triangles.as<std::uint32_t>(), options);
    wait(tree, options);
    if (options.stop.stop_requested()) return {};  // perhaps before all were listed
    return lists;
}

template void any_in(const RayTree&, const BallArray&, std::uint64_t, bool*, const BatchOptions&);
template void any_in(const RayTree&, const BoxArray&, std::uint64_t, bool*, const BatchOptions&);
template void count_in(const RayTree&, const BallArray&, std::uint64_t, std::uint32_t*,
                       const BatchOptions&);
template void count_in(const RayTree&, const BoxArray&, std::uint64_t, std::uint32_t*,
                       const BatchOptions&);
template void list_in(const RayTree&, const BallArray&, std::uint64_t, const std::uint64_t*,
                      std::uint32_t*, const BatchOptions&);
template void list_in(const RayTree&, const BoxArray&, std::uint64_t, const std::uint64_t*,
                      std::uint32_t*, const BatchOptions&);
template TriangleLists all_in(const RayTree&, const BallArray&, std::uint64_t, const BatchOptions&);
template TriangleLists all_in(const RayTree&, const BoxArray&, std::uint64_t, const BatchOptions&);

}  // namespace heapwood::kdtree
