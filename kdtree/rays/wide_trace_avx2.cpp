/// @file
/// Rays through a WideTree, with the vector instructions AVX2 and FMA, for which few files are
/// compiled: so it calls no inline function that another file might call as well.
///
/// Margins and tests are those of RayPlanes and TriangleTest, operation by operation, so that hits
/// are the same bits.
#include <immintrin.h>

#include <cstdint>

#include "kdtree/config.h"
#include "kdtree/rays/four_tests.h"
#include "kdtree/rays/vector_rays.h"
#include "kdtree/rays/wide_tree.h"

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

/// One ray on its way. Hits are those of a query (ray_query.cuh).
template <bool kAny>
class Walk {
public:
    /// Begins with a ray. False if that meets nothing.
    bool start(const WideTreeView& tree, const Ray& ray, std::uint64_t number) {
        ray_ = number;
        best_ = {ray.t_max, Hit::kNone, 0, 0};
        if (!is_valid(ray) || tree.root == Treelet::kEmpty) return false;
        planes_ = planes_of(tree.bounds, ray);
        from_ = planes_.from;
        to_ = planes_.to;
        if (from_ > to_) return false;
        tests_ = FourTests(ray);
        at_ = tree.root;
        stack_.size = 0;
        return true;
    }

    /// Visits a treelet, or a leaf. False if the ray's result is there.
    __attribute__((always_inline)) bool step(const WideTreeView& tree) {
        if ((at_ & Treelet::kLeaf) == 0) {
            push_children(tree, tree.treelets[at_], planes_, from_, to_, stack_);
        } else if (visit_leaf(tree) || best_.t < to_ - planes_.slack) {
            return false;
        }
        do {
            if (stack_.size == 0) return false;
            --stack_.size;
        } while (stack_.from[stack_.size] > best_.t);
        at_ = stack_.children[stack_.size];
        from_ = stack_.from[stack_.size];
        to_ = stack_.to[stack_.size] < best_.t ? stack_.to[stack_.size] : best_.t;
        return true;
    }

    std::uint64_t ray() const { return ray_; }
    const Hit& best() const { return best_; }

private:
    /// Whether the ray's result is there: a hit, if any will do.
    __attribute__((always_inline)) bool visit_leaf(const WideTreeView& tree) {
        std::uint32_t count = at_ >> Treelet::kFirstBits & Treelet::kLarge;
        std::uint32_t first = at_ & ((1U << Treelet::kFirstBits) - 1);
        if (count == Treelet::kLarge) {
            count = tree.large[first].count;
            first = tree.large[first].first;
        }
        const CornerRow* rows = tree.rows + std::uint64_t{3} * first;
        for (;; count -= 4, rows += 12) {
            const std::uint32_t block = count < 4 ? count : 4;
            FourTests::Met met;
            tests_.triangles(rows, block, best_.t, met);
            for (; met.lanes != 0; met.lanes &= met.lanes - 1) {
                const auto i = static_cast<std::uint32_t>(__builtin_ctz(met.lanes));
                const CornerRow& row = rows[3 * (i < block ? i : block - 1)];
                keep_first(best_, {met.t[i], row.triangle, met.u[i], met.v[i]});
            }
            if (kAny && best_.triangle != Hit::kNone) return true;
            if (count <= 4) return false;
        }
    }

    Planes planes_;
    FourTests tests_;
    Stack stack_;
    Hit best_;  ///< its t is the largest that is still of interest
    std::uint32_t at_;
    float from_;
    float to_;
    std::uint64_t ray_;
};

/// Calls keep(i, first hit of ray i) for all rays, or some hit if any will do. Several rays are on
/// their way at once, by turns: each step waits for what the one before it found, and meanwhile
/// the processor works on the other rays' steps.
template <bool kAny, class Keep>
void trace(const WideTreeView& tree, const Ray* rays, std::uint64_t count, const Keep& keep) {
    constexpr unsigned kAtOnce = 2;
    Walk<kAny> walks[kAtOnce];
    Walk<kAny>* active[kAtOnce];
    unsigned left = 0;
    std::uint64_t next = 0;
    const auto begin = [&](Walk<kAny>& walk) {
        while (next < count) {
            const std::uint64_t i = next++;
            if (walk.start(tree, rays[i], i)) return true;
            keep(i, walk.best());
        }
        return false;
    };
    for (Walk<kAny>& walk : walks) {
        if (begin(walk)) active[left++] = &walk;
    }
    while (left != 0) {
        for (unsigned k = 0; k < left; ++k) {
            Walk<kAny>& walk = *active[k];
            if (walk.step(tree)) continue;
            keep(walk.ray(), walk.best());
            if (!begin(walk)) active[k--] = active[--left];
        }
    }
}

}  // namespace

void wide_closest_hits(const WideTreeView& tree, const Ray* rays, std::uint64_t count, Hit* hits) {
    trace<false>(tree, rays, count, [&](std::uint64_t i, const Hit& hit) { hits[i] = hit; });
}

void wide_any_hits(const WideTreeView& tree, const Ray* rays, std::uint64_t count,
                   std::uint32_t* found) {
    trace<true>(tree, rays, count, [&](std::uint64_t i, const Hit& hit) {
        found[i] = hit.triangle != Hit::kNone ? 1 : 0;
    });
}

}  // namespace heapwood::kdtree
