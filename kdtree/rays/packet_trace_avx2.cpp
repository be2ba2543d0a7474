/// @file
/// Packets of eight rays through a tree, with the vector instructions AVX2 and FMA, for which few
/// files are compiled: so it calls no inline function that another file might call as well.
///
/// A packet visits each node that one of its rays visits, in the order that all of them share. What
/// a ray meets there, be it on its way or not, is tested as TriangleTest does; so hits are the same
/// bits as those of the rays one by one.
#include <immintrin.h>

#include <cstdint>

#include "kdtree/config.h"
#include "kdtree/rays/ray_packets.h"
#include "kdtree/rays/vector_rays.h"

namespace heapwood::kdtree {
namespace {

constexpr unsigned kRays = 8;
constexpr float kInfinity = __builtin_inff();

/// A bit for each ray whose interval of t has a number in it. NaN ends no interval.
unsigned left(__m256 from, __m256 to) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(from, to, _CMP_NGT_UQ)));
}

template <bool kAny>
class Packet {
public:
    /// False if the rays do not go together: then they are to be traced one by one.
    bool start(const Box& bounds, const Ray* rays) {
        const Axes axes(rays[0]);
        alignas(32) float numbers[11][kRays];
        for (unsigned i = 0; i < kRays; ++i) {
            if (!is_valid(rays[i]) || Axes(rays[i]).z != axes.z) return false;
            const Planes p = planes_of(bounds, rays[i]);
            alignas(16) float of_ray[12];
            _mm_store_ps(of_ray, _mm256_castps256_ps128(p.inverse));
            _mm_store_ps(of_ray + 4, _mm256_castps256_ps128(p.earlier));
            _mm_store_ps(of_ray + 8, _mm256_castps256_ps128(p.later));
            for (unsigned k = 0; k < 11; ++k) numbers[k][i] = of_ray[k];
            numbers[3][i] = p.from;
            numbers[7][i] = p.to;
            best_[i] = {rays[i].t_max, Hit::kNone, 0, 0};
            limit_[i] = rays[i].t_max;
        }
        high_near_ = 0;
        for (unsigned axis = 0; axis < 3; ++axis) {
            axes_[axis] = {_mm256_load_ps(numbers[axis]), _mm256_load_ps(numbers[4 + axis]),
                           _mm256_load_ps(numbers[8 + axis])};
            const int signs = _mm256_movemask_ps(axes_[axis].inverse);
            if (signs != 0 && signs != 0xFF) return false;
            high_near_ |= (signs != 0 ? 1U : 0U) << axis;
        }
        from_ = _mm256_load_ps(numbers[3]);
        to_ = _mm256_load_ps(numbers[7]);
        tests_[0] = FourTests(axes, rays);
        tests_[1] = FourTests(axes, rays + 4);
        return true;
    }

    void trace(const RayTreeView& tree) {
        if (left(from_, to_) == 0) return;
        __m256 from = from_;
        __m256 to = to_;
        RayNode node = tree.node(kRootPlace);
        unsigned size = 0;
        for (;;) {
            const unsigned axis = node.tagged & 3U;
            if (axis != RayNode::kLeaf) {
                const AxisTimes& a = axes_[axis];
                const __m256 plane =
                    _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(node.payload)));
                const __m256 near_to =
                    _mm256_min_ps(_mm256_fmadd_ps(plane, a.inverse, a.later), to);
                const __m256 far_from =
                    _mm256_max_ps(_mm256_fmadd_ps(plane, a.inverse, a.earlier), from);
                const std::uint32_t near_side = high_near_ >> axis & 1U;
                const std::uint32_t far_side = near_side ^ 1U;
                const RayNode* children = tree.nodes + std::uint64_t{node.tagged >> 4} * 2;
                const bool near =
                    left(from, near_to) != 0 && (node.tagged >> (2 + near_side) & 1U) == 0;
                const bool far =
                    left(far_from, to) != 0 && (node.tagged >> (2 + far_side) & 1U) == 0;
                if (near) {
                    if (far) stack_[size++] = {far_from, to, children + far_side};
                    to = near_to;
                    node = children[near_side];
                    continue;
                }
                if (far) {
                    from = far_from;
                    node = children[far_side];
                    continue;
                }
            } else {
                visit(tree.rows + std::uint64_t{3} * node.payload, node.tagged >> 4,
                      left(from, to));
            }
            const __m256 limit = _mm256_load_ps(limit_);
            do {
                if (size == 0) return;
                --size;
                from = stack_[size].from;
                to = _mm256_min_ps(stack_[size].to, limit);
            } while (left(from, to) == 0);
            node = *stack_[size].node;
        }
    }

    /// Of ray i, after trace().
    const Hit& best(unsigned i) const { return best_[i]; }

private:
    struct AxisTimes {
        __m256 inverse;
        __m256 earlier;
        __m256 later;
    };
    struct Entry {
        __m256 from;
        __m256 to;
        const RayNode* node;
    };

    /// Tests the triangles of a leaf, unless four rays in succession are elsewhere.
    void visit(const CornerRow* rows, std::uint32_t count, unsigned here) {
        for (; count != 0; --count, rows += 3) {
            for (unsigned half = 0; half < 2; ++half) {
                if ((here >> (4 * half) & 15U) == 0) continue;
                float* limits = limit_ + 4 * half;
                FourTests::Met met;
                tests_[half].triangle(rows, _mm_load_ps(limits), met);
                for (; met.lanes != 0; met.lanes &= met.lanes - 1) {
                    const auto i = static_cast<unsigned>(__builtin_ctz(met.lanes));
                    Hit& best = best_[4 * half + i];
                    keep_first(best, {met.t[i], rows->triangle, met.u[i], met.v[i]});
                    limits[i] = kAny ? -kInfinity : best.t;
                }
            }
        }
    }

    AxisTimes axes_[3];
    __m256 from_;
    __m256 to_;
    FourTests tests_[2];
    alignas(32) float limit_[kRays];  ///< the largest t that is still of interest
    Hit best_[kRays];
    Entry stack_[kMaxDepth + 1];
    unsigned high_near_;  ///< a bit for each axis along which the rays go down
};

/// Calls keep(i, hit of ray i) for whole packets, and one_by_one(first ray, how many) for the rest.
template <bool kAny, class Keep, class OneByOne>
void trace(const RayTreeView& tree, const Ray* rays, std::uint64_t count, const Keep& keep,
           const OneByOne& one_by_one) {
    Packet<kAny> packet;
    std::uint64_t i = 0;
    for (; count - i >= kRays; i += kRays) {
        if (!packet.start(tree.bounds, rays + i)) {
            one_by_one(i, kRays);
            continue;
        }
        packet.trace(tree);
        for (unsigned k = 0; k < kRays; ++k) keep(i + k, packet.best(k));
    }
    if (i < count) one_by_one(i, count - i);
}

}  // namespace

void packet_closest_hits(const PacketView& tree, const Ray* rays, std::uint64_t count, Hit* hits) {
    trace<false>(
        tree.nodes, rays, count, [&](std::uint64_t i, const Hit& hit) { hits[i] = hit; },
        [&](std::uint64_t i, std::uint64_t n) {
            wide_closest_hits(tree.wide, rays + i, n, hits + i);
        });
}

void packet_any_hits(const PacketView& tree, const Ray* rays, std::uint64_t count,
                     std::uint32_t* found) {
    trace<true>(
        tree.nodes, rays, count,
        [&](std::uint64_t i, const Hit& hit) { found[i] = hit.triangle != Hit::kNone ? 1 : 0; },
        [&](std::uint64_t i, std::uint64_t n) {
            wide_any_hits(tree.wide, rays + i, n, found + i);
        });
}

}  // namespace heapwood::kdtree
