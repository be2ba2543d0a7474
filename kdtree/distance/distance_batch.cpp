/// @file
/// Batches of distances: the CPU's half, and the choice between the two.
#include "kdtree/distance/distance_batch.h"

#include <algorithm>
#include <vector>

#include "allocators/platform/for_chunks.h"
#include "allocators/platform/threads.h"
#include "kdtree/distance/distance_work.cuh"
#include "kdtree/distance/z_order.cuh"
#include "kdtree/rays/ray_batch_device.h"

namespace heapwood::kdtree {
namespace {

using allocators::Buffer;
using allocators::Place;

/// Points that a thread takes at a time, at least and at most.
constexpr std::uint64_t kLeast = 256;
constexpr std::uint64_t kMost = 1 << 14;

/// The numbers of some points, so that neighbours follow one another.
std::vector<std::uint64_t> in_order(const VectorArray& points, std::uint64_t begin,
                                    std::uint64_t end, const Box& bounds) {
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = begin; i < end; ++i) {
        order.push_back(std::uint64_t{detail::z_order(points.at(i), bounds)} << 32 | (i - begin));
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
            if constexpr (detail::AboutPoints<Work>) {
                std::uint32_t near = Nearest::kNone;
                for (const auto i : in_order(work.points, begin, end, tree.view().bounds)) {
                    const std::uint32_t reference = detail::find_reference(work, i, near);
                    detail::tell(work, i, reference);
                    if (reference != Nearest::kNone) near = reference;
                }
            } else {
                for (std::uint64_t i = begin; i < end; ++i) work(i);
            }
        });
}

/// Of what triangles meet regions, the one that there is room for.
void find_triangles(const RayTree& tree, const Regions& regions, std::uint64_t count, bool* any,
                    std::uint32_t* counts, const std::uint64_t* offsets, std::uint32_t* triangles,
                    const BatchOptions& options) {
    std::visit(
        [&]<class Array>(const Array& array) {
            run(tree, count,
                detail::FindTriangles<Array>{tree.view(), array, any, counts, offsets, triangles},
                options);
        },
        regions);
}

}  // namespace

void closest_points(const RayTree& tree, const VectorArray& points, std::uint64_t count,
                    const NumberArray& most, const NearestArrays& to, const BatchOptions& options) {
    run(tree, count, detail::FindNearest{tree.view(), points, most, to}, options);
}

void signed_distances(const RayTree& tree, const SignView& signs, const VectorArray& points,
                      std::uint64_t count, float* to, const BatchOptions& options) {
    run(tree, count, detail::FindSides{tree.view(), signs, points, to, nullptr}, options);
}

void contain(const RayTree& tree, const SignView& signs, const VectorArray& points,
             std::uint64_t count, bool* to, const BatchOptions& options) {
    run(tree, count, detail::FindSides{tree.view(), signs, points, nullptr, to}, options);
}

void any_in(const RayTree& tree, const Regions& regions, std::uint64_t count, bool* to,
            const BatchOptions& options) {
    find_triangles(tree, regions, count, to, nullptr, nullptr, nullptr, options);
}

void count_in(const RayTree& tree, const Regions& regions, std::uint64_t count, std::uint32_t* to,
              const BatchOptions& options) {
    find_triangles(tree, regions, count, nullptr, to, nullptr, nullptr, options);
}

void list_in(const RayTree& tree, const Regions& regions, std::uint64_t count,
             const std::uint64_t* offsets, std::uint32_t* triangles, const BatchOptions& options) {
    find_triangles(tree, regions, count, nullptr, nullptr, offsets, triangles, options);
}

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

}  // namespace heapwood::kdtree
