/// @file
/// One ray through a WideTree, with the vector instructions AVX2 and FMA, for which this file alone
/// is compiled: so it calls no inline function that another file might call as well.
///
/// Margins and tests are those of PlaneTimes and TriangleTest, operation by operation, so that hits
/// are the same bits.
#include <immintrin.h>

#include <cstdint>

#include "kdtree/config.h"
#include "kdtree/tree/four_triangle_test.h"
#include "kdtree/tree/wide_tree.h"

namespace heapwood::kdtree {
namespace {

constexpr float kInfinity = __builtin_inff();

/// For each set of planes whose near side is the high one: the children, the farthest first, a byte
/// each. For each set of eight: the numbers of its members, likewise.
struct Tables {
    std::uint64_t farthest_first[128] = {};
    std::uint64_t members[256] = {};

    constexpr Tables() {
        for (unsigned high_near = 0; high_near < 128; ++high_near) {
            std::uint64_t word = 0;
            for (unsigned place = 0; place < 8; ++place) {
                // Bit 2 of the place decides at plane 0, and so on; a bit of 0 is the near side.
                unsigned slot = 0;
                for (unsigned level = 0; level < 3; ++level) {
                    const unsigned far = place >> (2 - level) & 1U;
                    const unsigned high = far ^ (high_near >> slot & 1U);
                    slot = 2 * slot + 1 + high;
                }
                word |= static_cast<std::uint64_t>(slot - 7) << (8 * (7 - place));
            }
            farthest_first[high_near] = word;
        }
        for (unsigned set = 0; set < 256; ++set) {
            unsigned n = 0;
            for (unsigned i = 0; i < 8; ++i) {
                if ((set >> i & 1U) != 0) {
                    members[set] |= static_cast<std::uint64_t>(i) << (8 * n++);
                }
            }
        }
    }
};
constexpr Tables kTables;

__m256i bytes(const std::uint64_t& word) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&word)));
}

/// PlaneTimes: each vector has x, y, z, nothing, and these four again.
struct Planes {
    __m256 inverse;
    __m256 earlier;
    __m256 later;
    float slack;
    float from;
    float to;
};

float largest_of_xyz(__m128 v) {
    const __m128 y = _mm_movehdup_ps(v);
    const __m128 z = _mm_movehl_ps(v, v);
    return _mm_cvtss_f32(_mm_max_ss(_mm_max_ss(v, y), z));
}

float smallest_of_xyz(__m128 v) {
    const __m128 y = _mm_movehdup_ps(v);
    const __m128 z = _mm_movehl_ps(v, v);
    return _mm_cvtss_f32(_mm_min_ss(_mm_min_ss(v, y), z));
}

float sum_of_xyz(__m128 v) {
    const __m128 y = _mm_movehdup_ps(v);
    const __m128 z = _mm_movehl_ps(v, v);
    return _mm_cvtss_f32(_mm_add_ss(_mm_add_ss(v, y), z));
}

Planes planes_of(const Box& box, const Ray& ray) {
    const __m128 sign = _mm_set1_ps(-0.0F);
    const auto size = [&](__m128 v) { return _mm_andnot_ps(sign, v); };
    const __m128 origin = _mm_setr_ps(ray.origin.x, ray.origin.y, ray.origin.z, 0);
    const __m128 direction = _mm_setr_ps(ray.direction.x, ray.direction.y, ray.direction.z, 1);
    const __m128 lo = _mm_setr_ps(box.lo.x, box.lo.y, box.lo.z, 0);
    const __m128 hi = _mm_setr_ps(box.hi.x, box.hi.y, box.hi.z, 0);
    const __m128 reach =
        larger(size(origin), larger(size(_mm_sub_ps(lo, origin)), size(_mm_sub_ps(hi, origin))));
    const float longest = largest_of_xyz(size(direction));
    const float most_distant = 4 * largest_of_xyz(reach);
    const float margin = largest_of_xyz(reach) * 0x1p-19F + 0x1p-140F;
    const __m128 steep = _mm_cmpgt_ps(size(direction), _mm_set1_ps(longest * 0x1p-64F));
    const __m128 inverse =
        _mm_blendv_ps(_mm_set1_ps(0x1p64F / longest), _mm_div_ps(_mm_set1_ps(1), direction), steep);
    const __m128 aside = _mm_mul_ps(_mm_set1_ps(margin), size(inverse));
    const __m128 known =
        _mm_mul_ps(_mm_setzero_ps(), _mm_mul_ps(_mm_set1_ps(most_distant), inverse));
    const __m128 later = _mm_add_ps(_mm_fnmadd_ps(origin, inverse, aside), known);
    const __m128 earlier = _mm_add_ps(_mm_fnmsub_ps(origin, inverse, aside), known);
    const __m128 t_lo = _mm_blendv_ps(lo, hi, inverse);  // by the sign
    const __m128 t_hi = _mm_blendv_ps(hi, lo, inverse);
    const __m128 enter = larger(_mm_fmadd_ps(t_lo, inverse, earlier), _mm_set1_ps(ray.t_min));
    const __m128 leave = smaller(_mm_fmadd_ps(t_hi, inverse, later), _mm_set1_ps(ray.t_max));
    return {_mm256_set_m128(inverse, inverse),
            _mm256_set_m128(earlier, earlier),
            _mm256_set_m128(later, later),
            2 * largest_of_xyz(aside) + sum_of_xyz(known),
            largest_of_xyz(enter),
            smallest_of_xyz(leave)};
}

/// Children that wait, the next one last: seven of each treelet above, and what a treelet writes.
struct Stack {
    static constexpr unsigned kMost = 7 * (kMaxDepth / 3 + 1) + 16;
    alignas(32) std::uint32_t children[kMost];
    alignas(32) float from[kMost];
    alignas(32) float to[kMost];
    unsigned size = 0;
};

/// Asks for what a child consists of.
__attribute__((always_inline)) inline void prefetch(const WideTreeView& tree, std::uint32_t child) {
    const bool leaf = (child & Treelet::kLeaf) != 0;
    const std::uint64_t first = child & ((1U << Treelet::kFirstBits) - 1);
    const void* treelet = tree.treelets + child;
    const void* rows = tree.rows + 3 * first;
    _mm_prefetch(static_cast<const char*>(leaf ? rows : treelet), _MM_HINT_T0);
}

/// Pushes those children of a treelet that the ray meets from `from` to `to`, the farthest first.
__attribute__((always_inline)) inline void push_children(const WideTreeView& tree,
                                                         const Treelet& treelet, const Planes& p,
                                                         float from, float to, Stack& stack) {
    const __m256i shifts = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    const __m256i words = _mm256_set1_epi32(static_cast<int>(treelet.axes));
    // The bits above an axis' two do not matter to _mm256_permutevar_ps.
    const __m256i axes = _mm256_srlv_epi32(words, shifts);
    // The eighth is no plane, but the axes' word, whose result nobody reads.
    const __m256 planes = _mm256_load_ps(treelet.planes);
    const __m256 inverse = _mm256_permutevar_ps(p.inverse, axes);
    const __m256 near_to = _mm256_fmadd_ps(planes, inverse, _mm256_permutevar_ps(p.later, axes));
    const __m256 far_from = _mm256_fmadd_ps(planes, inverse, _mm256_permutevar_ps(p.earlier, axes));
    const unsigned high_near = static_cast<unsigned>(_mm256_movemask_ps(inverse)) & 127U;

    __m256 begin = _mm256_set1_ps(from);
    __m256 end = _mm256_set1_ps(to);
    const __m256 never = _mm256_set1_ps(kInfinity);
    const __m256 always = _mm256_set1_ps(-kInfinity);
    // For each child the plane of a level above it, and on which side of it the child is: with the
    // sign bit the high one. NaN cuts nothing off.
    const auto cut = [&](__m256i plane, __m256 side) {
        const __m256 is_far = _mm256_xor_ps(_mm256_permutevar8x32_ps(inverse, plane), side);
        begin = _mm256_max_ps(
            _mm256_blendv_ps(always, _mm256_permutevar8x32_ps(far_from, plane), is_far), begin);
        end = _mm256_min_ps(
            _mm256_blendv_ps(_mm256_permutevar8x32_ps(near_to, plane), never, is_far), end);
    };
    constexpr int kHigh = static_cast<int>(0x80000000U);
    cut(_mm256_setzero_si256(),
        _mm256_castsi256_ps(_mm256_setr_epi32(0, 0, 0, 0, kHigh, kHigh, kHigh, kHigh)));
    cut(_mm256_setr_epi32(1, 1, 1, 1, 2, 2, 2, 2),
        _mm256_castsi256_ps(_mm256_setr_epi32(0, 0, kHigh, kHigh, 0, 0, kHigh, kHigh)));
    cut(_mm256_setr_epi32(3, 3, 4, 4, 5, 5, 6, 6),
        _mm256_castsi256_ps(_mm256_setr_epi32(0, kHigh, 0, kHigh, 0, kHigh, 0, kHigh)));

    const __m256i children = _mm256_load_si256(reinterpret_cast<const __m256i*>(treelet.children));
    const __m256 empty =
        _mm256_castsi256_ps(_mm256_cmpeq_epi32(children, _mm256_set1_epi32(kHigh)));
    const __m256 met = _mm256_andnot_ps(empty, _mm256_cmp_ps(begin, end, _CMP_NGT_UQ));
    const __m256i order = bytes(kTables.farthest_first[high_near]);
    const auto set =
        static_cast<unsigned>(_mm256_movemask_ps(_mm256_permutevar8x32_ps(met, order)));
    const __m256i chosen = _mm256_permutevar8x32_epi32(order, bytes(kTables.members[set]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(stack.children + stack.size),
                        _mm256_permutevar8x32_epi32(children, chosen));
    _mm256_storeu_ps(stack.from + stack.size, _mm256_permutevar8x32_ps(begin, chosen));
    _mm256_storeu_ps(stack.to + stack.size, _mm256_permutevar8x32_ps(end, chosen));
    stack.size += static_cast<unsigned>(__builtin_popcount(set));
    // The child after the next one is on its way while that is visited.
    if (stack.size > 1) prefetch(tree, stack.children[stack.size - 2]);
}

/// Calls visit(rows, count, limit) for up to four triangles of leaves that the ray may meet, in
/// order; it returns the largest t that is still of interest, or minus infinity to end the walk.
template <class Visit>
void walk(const WideTreeView& tree, const Ray& ray, const Visit& visit) {
    const Planes planes = planes_of(tree.bounds, ray);
    float from = planes.from;
    float to = planes.to;
    if (from > to || tree.root == Treelet::kEmpty) return;
    Stack stack;
    std::uint32_t at = tree.root;
    float limit = ray.t_max;
    for (;;) {
        if ((at & Treelet::kLeaf) == 0) {
            push_children(tree, tree.treelets[at], planes, from, to, stack);
        } else {
            std::uint32_t count = at >> Treelet::kFirstBits & Treelet::kLarge;
            std::uint32_t first = at & ((1U << Treelet::kFirstBits) - 1);
            if (count == Treelet::kLarge) {
                count = tree.large[first].count;
                first = tree.large[first].first;
            }
            const CornerRow* rows = tree.rows + std::uint64_t{3} * first;
            for (; count > 4 && limit != -kInfinity; count -= 4, rows += 12) {
                limit = visit(rows, 4, limit);
            }
            if (limit != -kInfinity) limit = visit(rows, count, limit);
            if (limit < to - planes.slack) return;
        }
        do {
            if (stack.size == 0) return;
            --stack.size;
        } while (stack.from[stack.size] > limit);
        at = stack.children[stack.size];
        from = stack.from[stack.size];
        to = stack.to[stack.size] < limit ? stack.to[stack.size] : limit;
    }
}

}  // namespace

Hit wide_closest_hit(const WideTreeView& tree, const Ray& ray) {
    const FourTriangleTest test(ray);
    Hit best{ray.t_max, Hit::kNone, 0, 0};
    walk(tree, ray, [&](const CornerRow* rows, std::uint32_t count, float limit) {
        FourTriangleTest::Met met;
        test(rows, count, limit, met);
        for (; met.lanes != 0; met.lanes &= met.lanes - 1) {
            const auto i = static_cast<std::uint32_t>(__builtin_ctz(met.lanes));
            const std::uint32_t triangle = rows[3 * (i < count ? i : count - 1)].triangle;
            if (met.t[i] < best.t || (met.t[i] == best.t && triangle < best.triangle)) {
                best = {met.t[i], triangle, met.u[i], met.v[i]};
            }
        }
        return best.t;
    });
    return best;
}

bool wide_any_hit(const WideTreeView& tree, const Ray& ray) {
    const FourTriangleTest test(ray);
    bool found = false;
    walk(tree, ray, [&](const CornerRow* rows, std::uint32_t count, float limit) {
        FourTriangleTest::Met met;
        test(rows, count, limit, met);
        found = met.lanes != 0;
        return found ? -kInfinity : limit;
    });
    return found;
}

}  // namespace heapwood::kdtree
