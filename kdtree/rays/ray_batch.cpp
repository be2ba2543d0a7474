/// @file
/// Batches of rays: the CPU's half, and the choice between the two.
#include "kdtree/rays/ray_batch.h"

#include <type_traits>
#include <utility>

#include "allocators/platform/for_chunks.h"
#include "kdtree/rays/fast_test.cuh"
#include "kdtree/rays/ordered_hits.cuh"
#include "kdtree/rays/ray_batch_device.h"
#include "kdtree/rays/ray_packets.h"
#include "kdtree/rays/traversal.cuh"

namespace heapwood::kdtree {
namespace {

using allocators::Buffer;
using allocators::Place;

/// Rays that a thread takes at a time.
constexpr std::uint64_t kChunk = 1024;

/// Calls body(begin, end) for chunks of all rays, until a stop is requested.
template <class Body>
void for_some(std::uint64_t count, const BatchOptions& options, const Body& body) {
    platform::for_chunks(count, kChunk, options.threads,
                         [&](std::uint64_t begin, std::uint64_t end) {
                             if (!options.stop.stop_requested()) body(begin, end);
                         });
}

/// Calls query(i) for all rays, on a CPU.
template <class Query>
void for_rays(std::uint64_t count, const BatchOptions& options, const Query& query) {
    for_some(count, options, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) query(i);
    });
}

/// Calls trace(tree, some rays, how many, their results) for all rays, on a CPU.
template <class View, class Result>
void trace_chunks(void (*trace)(const View&, const Ray*, std::uint64_t, Result*),
                  const std::type_identity_t<View>& tree, const Ray* rays, std::uint64_t count,
                  Result* results, const BatchOptions& options) {
    for_some(count, options, [&](std::uint64_t begin, std::uint64_t end) {
        trace(tree, rays + begin, end - begin, results + begin);
    });
}

/// Calls run with a value of the test that the options ask for.
template <class Run>
void with_test(const BatchOptions& options, const Run& run) {
    if (options.fast) {
        run.template operator()<FastTriangleTest>();
    } else {
        run.template operator()<TriangleTest>();
    }
}

}  // namespace

void closest_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, Hit* hits,
                  const BatchOptions& options) {
    if (tree.place() == Place::device) {
        return detail::device_closest_hits(tree, rays, count, hits, options);
    }
    if (tree.wide()) {
        return options.coherent
                   ? trace_chunks(packet_closest_hits, {tree.view(), tree.wide()->view()}, rays,
                                  count, hits, options)
                   : trace_chunks(wide_closest_hits, tree.wide()->view(), rays, count, hits,
                                  options);
    }
    with_test(options, [&]<class Test>() {
        for_rays(count, options,
                 [&](std::uint64_t i) { hits[i] = closest_hit<Test>(tree.view(), rays[i]); });
    });
}

void any_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, std::uint32_t* found,
              const BatchOptions& options) {
    if (tree.place() == Place::device) {
        return detail::device_any_hits(tree, rays, count, found, options);
    }
    if (tree.wide()) {
        return options.coherent
                   ? trace_chunks(packet_any_hits, {tree.view(), tree.wide()->view()}, rays, count,
                                  found, options)
                   : trace_chunks(wide_any_hits, tree.wide()->view(), rays, count, found, options);
    }
    with_test(options, [&]<class Test>() {
        for_rays(count, options,
                 [&](std::uint64_t i) { found[i] = any_hit<Test>(tree.view(), rays[i]); });
    });
}

void count_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, std::uint32_t* counts,
                const BatchOptions& options) {
    if (tree.place() == Place::device) {
        return detail::device_count_hits(tree.view(), rays, count, counts, options);
    }
    with_test(options, [&]<class Test>() {
        for_rays(count, options, [&](std::uint64_t i) {
            counts[i] = OrderedHits<Test>(tree.view(), rays[i]).count();
        });
    });
}

void list_hits(const RayTree& tree, const Ray* rays, std::uint64_t count,
               const std::uint64_t* offsets, Hit* hits, const BatchOptions& options) {
    if (tree.place() == Place::device) {
        return detail::device_list_hits(tree.view(), rays, count, offsets, hits, options);
    }
    with_test(options, [&]<class Test>() {
        for_rays(count, options, [&](std::uint64_t i) {
            OrderedHits<Test> ray_hits(tree.view(), rays[i]);
            std::uint64_t to = offsets[i];
            for (Hit hit; ray_hits.next(hit);) hits[to++] = hit;
        });
    });
}

void wait(const RayTree& tree, const BatchOptions& options) {
    if (tree.place() == Place::device) detail::device_wait(options);
}

BatchMoment::BatchMoment(const RayTree& tree, const BatchOptions& options)
    : host_(std::chrono::steady_clock::now()),
      device_(tree.place() == Place::device ? detail::device_moment(options) : nullptr) {}

double BatchMoment::ms_since(const BatchMoment& earlier) const {
    if (device_ != nullptr) return detail::device_ms(earlier.device_.get(), device_.get());
    return std::chrono::duration<double, std::milli>(host_ - earlier.host_).count();
}

std::uint64_t detail::offsets_of(const RayTree& tree, const std::uint32_t* counts,
                                 std::uint64_t count, std::uint64_t* offsets,
                                 const BatchOptions& options) {
    if (tree.place() == Place::device) return device_offsets(counts, count, offsets, options);
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        offsets[i] = total;
        total += counts[i];
    }
    offsets[count] = total;
    return total;
}

HitLists all_hits(const RayTree& tree, const Ray* rays, std::uint64_t count,
                  const BatchOptions& options) {
    const Buffer counts(tree.place(), count * sizeof(std::uint32_t));
    count_hits(tree, rays, count, counts.as<std::uint32_t>(), options);
    if (options.stop.stop_requested()) return {};
    HitLists lists;
    lists.offsets = Buffer(tree.place(), (count + 1) * sizeof(std::uint64_t));
    auto* offsets = lists.offsets.as<std::uint64_t>();
    lists.total = detail::offsets_of(tree, counts.as<std::uint32_t>(), count, offsets, options);
    lists.hits = Buffer(tree.place(), lists.total * sizeof(Hit));
    list_hits(tree, rays, count, offsets, lists.hits.as<Hit>(), options);
    wait(tree, options);
    if (options.stop.stop_requested()) return {};  // perhaps before all hits were listed
    return lists;
}

}  // namespace heapwood::kdtree
