/// @file
/// Batches of rays: the CPU's half, and the choice between the two.
#include "kdtree/rays/ray_batch.h"

#include <array>
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
using detail::FoundOut;
using detail::HitsOut;
using detail::RaysIn;

/// Rays that a thread takes at a time: they stay in its cache between gathering and tracing.
constexpr std::uint64_t kChunk = 256;

/// A vector's length, squared.
float square(const glm::vec3& v) {
    return v.x * v.x + v.y * v.y + v.z * v.z;
}

/// Whether eight rays begin near one another and go almost the same way.
///
/// The limits are measured: rays of a camera whose eight neighbours are 1/16 of a radian apart, and
/// parallel ones 1/32 of the box's diagonal, take about as long in packets as one by one (four
/// scenes of 1,280 to 200,000 triangles), and those that are less far apart less long.
bool is_packet(const Ray* rays, const Box& bounds) {
    constexpr float kTurn = 1.0F / 16;
    constexpr float kShift = 1.0F / 32;
    const Ray& first = rays[0];
    const float turn = kTurn * kTurn * square(first.direction);
    const float shift = kShift * kShift * square(bounds.hi - bounds.lo);
    for (std::uint64_t i = 1; i < kPacket; ++i) {
        // What is not finite is not alike.
        const bool alike = square(rays[i].direction - first.direction) < turn &&
                           square(rays[i].origin - first.origin) <= shift;
        if (!alike) return false;
    }
    return true;
}

/// Calls body(begin, end) for chunks of all rays, until a stop is requested.
template <class Body>
void for_some(std::uint64_t count, const BatchOptions& options, const Body& body) {
    platform::for_chunks(count, kChunk, options.threads,
                         [&](std::uint64_t begin, std::uint64_t end) {
                             if (!options.stop.stop_requested()) body(begin, end);
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

/// The first hits of some rays on a CPU.
void closest_here(const RayTree& tree, const Ray* rays, std::uint64_t count, Hit* hits,
                  const BatchOptions& options) {
    if (tree.wide()) {
        if (options.coherent || are_coherent(rays, count, tree.view().bounds)) {
            return packet_closest_hits({tree.view(), tree.wide()->view()}, rays, count, hits);
        }
        return wide_closest_hits(tree.wide()->view(), rays, count, hits);
    }
    with_test(options, [&]<class Test>() {
        for (std::uint64_t i = 0; i < count; ++i) hits[i] = closest_hit<Test>(tree.view(), rays[i]);
    });
}

/// Whether some rays meet anything, on a CPU.
void any_here(const RayTree& tree, const Ray* rays, std::uint64_t count, std::uint32_t* found,
              const BatchOptions& options) {
    if (tree.wide()) {
        if (options.coherent || are_coherent(rays, count, tree.view().bounds)) {
            return packet_any_hits({tree.view(), tree.wide()->view()}, rays, count, found);
        }
        return wide_any_hits(tree.wide()->view(), rays, count, found);
    }
    with_test(options, [&]<class Test>() {
        for (std::uint64_t i = 0; i < count; ++i) found[i] = any_hit<Test>(tree.view(), rays[i]);
    });
}

/// Calls trace(tree, some rays, how many, their results, options) for all rays, on a CPU. What
/// does not lie in a row is gathered before, or divided after.
template <class Result, class Out>
void trace_chunks(void (*trace)(const RayTree&, const Ray*, std::uint64_t, Result*,
                                const BatchOptions&),
                  const RayTree& tree, const RaysIn& rays, const Out& out,
                  const BatchOptions& options) {
    for_some(rays.count(), options, [&](std::uint64_t begin, std::uint64_t end) {
        std::array<Ray, kChunk> gathered{};
        std::array<Result, kChunk> results{};
        const Ray* some = gathered.data();
        if (rays.row != nullptr) {
            some = rays.row + begin;
        } else {
            for (std::uint64_t i = begin; i < end; ++i) gathered[i - begin] = rays.at(i);
        }
        if (out.row != nullptr) return trace(tree, some, end - begin, out.row + begin, options);
        trace(tree, some, end - begin, results.data(), options);
        for (std::uint64_t i = begin; i < end; ++i) out.set(i, results[i - begin]);
    });
}

/// Calls work(i, OrderedHits of ray i) for all rays, on a CPU.
template <class Work>
void with_hits(const RayTree& tree, const RaysIn& rays, const BatchOptions& options,
               const Work& work) {
    with_test(options, [&]<class Test>() {
        for_some(rays.count(), options, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) {
                const Ray ray = rays.at(i);
                work(i, OrderedHits<Test>(tree.view(), ray));
            }
        });
    });
}

void closest(const RayTree& tree, const RaysIn& rays, const HitsOut& out,
             const BatchOptions& options) {
    if (tree.place() == Place::device) {
        return detail::device_closest_hits(tree, rays, out, options);
    }
    trace_chunks(closest_here, tree, rays, out, options);
}

void any(const RayTree& tree, const RaysIn& rays, const FoundOut& out,
         const BatchOptions& options) {
    if (tree.place() == Place::device) return detail::device_any_hits(tree, rays, out, options);
    trace_chunks(any_here, tree, rays, out, options);
}

void counts_of(const RayTree& tree, const RaysIn& rays, std::uint32_t* counts,
               const BatchOptions& options) {
    if (tree.place() == Place::device) {
        return detail::device_count_hits(tree.view(), rays, counts, options);
    }
    with_hits(tree, rays, options, [&](std::uint64_t i, auto&& hits) { counts[i] = hits.count(); });
}

void list(const RayTree& tree, const RaysIn& rays, const std::uint64_t* offsets, const HitsOut& out,
          const BatchOptions& options) {
    if (tree.place() == Place::device) {
        return detail::device_list_hits(tree.view(), rays, offsets, out, options);
    }
    with_hits(tree, rays, options, [&](std::uint64_t i, auto&& hits) {
        std::uint64_t to = offsets[i];
        for (Hit hit; hits.next(hit);) out.set(to++, hit);
    });
}

}  // namespace

bool are_coherent(const Ray* rays, std::uint64_t count, const Box& bounds) {
    const std::uint64_t packets = count / kPacket;
    std::uint64_t others = 0;
    for (std::uint64_t i = 0; i < packets; ++i) {
        others += is_packet(rays + i * kPacket, bounds) ? 0 : 1;
        if (others * 4 > packets) return false;
    }
    return packets != 0;
}

void closest_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, Hit* hits,
                  const BatchOptions& options) {
    closest(tree, {rays, count}, HitsOut(hits), options);
}
void closest_hits(const RayTree& tree, const RayArrays& rays, const HitArrays& hits,
                  const BatchOptions& options) {
    closest(tree, RaysIn(rays), HitsOut(hits), options);
}

void any_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, std::uint32_t* found,
              const BatchOptions& options) {
    any(tree, {rays, count}, FoundOut(found), options);
}
void any_hits(const RayTree& tree, const RayArrays& rays, bool* found,
              const BatchOptions& options) {
    any(tree, RaysIn(rays), FoundOut(found), options);
}

void count_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, std::uint32_t* counts,
                const BatchOptions& options) {
    counts_of(tree, {rays, count}, counts, options);
}
void count_hits(const RayTree& tree, const RayArrays& rays, std::uint32_t* counts,
                const BatchOptions& options) {
    counts_of(tree, RaysIn(rays), counts, options);
}

void list_hits(const RayTree& tree, const Ray* rays, std::uint64_t count,
               const std::uint64_t* offsets, Hit* hits, const BatchOptions& options) {
    list(tree, {rays, count}, offsets, HitsOut(hits), options);
}
void list_hits(const RayTree& tree, const RayArrays& rays, const std::uint64_t* offsets,
               const HitArrays& hits, const BatchOptions& options) {
    list(tree, RaysIn(rays), offsets, HitsOut(hits), options);
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

std::uint64_t offsets_of(const RayTree& tree, const std::uint32_t* counts, std::uint64_t count,
                         std::uint64_t* offsets, const BatchOptions& options) {
    if (tree.place() == Place::device)
        return detail::device_offsets(counts, count, offsets, options);
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
    lists.total = offsets_of(tree, counts.as<std::uint32_t>(), count, offsets, options);
    lists.hits = Buffer(tree.place(), lists.total * sizeof(Hit));
    list_hits(tree, rays, count, offsets, lists.hits.as<Hit>(), options);
    wait(tree, options);
    if (options.stop.stop_requested()) return {};  // perhaps before all hits were listed
    return lists;
}

}  // namespace heapwood::kdtree
