/// @file
/// What a walk is for: the state of a query between leaves.
///
/// A query has `limit()`, the largest t that is still of interest; `test(tree, reference)`, which
/// tests a triangle; `is_done()`, whether nothing else is of interest; and `result(tree)`, after
/// the walk. For lanes that test together (ray_together.cuh) it has `helper(warp, lane)`, that
/// lane's query with nothing found yet, and `take(warp, helper, lane)`, which adds to that lane's
/// query what all lanes' helpers have found.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/rays/ray_walk.cuh"

namespace heapwood::kdtree {

/// Another lane's value, word by word.
template <class T, platform::Warp W>
HEAPWOOD_INLINE T shuffled(const W& warp, const T& value, unsigned lane) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
    std::uint32_t words[sizeof(T) / sizeof(std::uint32_t)];
    std::memcpy(words, &value, sizeof(T));
    for (std::uint32_t& word : words) word = warp.shuffle(word, lane);
    T theirs = value;
    std::memcpy(&theirs, words, sizeof(T));
    return theirs;
}

/// The first hit; among several at the same t the one in the triangle of the smallest number.
template <class Test>
class ClosestQuery {
public:
    using Result = Hit;

    HEAPWOOD_INLINE explicit ClosestQuery(const Ray& ray) : test_(ray), t_(ray.t_max) {}

    HEAPWOOD_INLINE float limit() const { return t_; }
    HEAPWOOD_INLINE static constexpr bool is_done() { return false; }
    HEAPWOOD_INLINE void test(const RayTreeView& tree, std::uint32_t reference) {
        Hit hit;
        if (test_.meets(tree.triangle(reference), t_, hit)) keep(hit.t, hit.triangle, reference);
    }
    HEAPWOOD_INLINE Hit result(const RayTreeView& tree) const {
        Hit hit{t_, triangle_, 0, 0};
        if (hit.found()) test_.locate(tree.triangle(reference_), hit);
        return hit;
    }
    /// Of the first hit, if there is any, the reference that led to it: says in which leaf.
    HEAPWOOD_INLINE std::uint32_t reference() const { return reference_; }

    template <platform::Warp W>
    HEAPWOOD_INLINE ClosestQuery helper(const W& warp, unsigned lane) const {
        return {shuffled(warp, test_, lane), warp.shuffle(t_, lane)};
    }
    template <platform::Warp W>
    HEAPWOOD_INLINE void take(const W& warp, const ClosestQuery& helper, unsigned lane) {
        const bool found = helper.triangle_ != Hit::kNone;
        if (!warp.any(found)) return;
        const float t = warp.min(found ? helper.t_ : platform::bits_float(0x7F800000U));
        const std::uint32_t triangle = warp.min(helper.t_ == t ? helper.triangle_ : Hit::kNone);
        const unsigned finder =
            platform::lowest_bit(warp.ballot(helper.t_ == t && helper.triangle_ == triangle));
        const std::uint32_t reference = warp.shuffle(helper.reference_, finder);
        if (warp.lane() == lane) keep(t, triangle, reference);
    }

private:
    HEAPWOOD_INLINE ClosestQuery(const Test& test, float limit) : test_(test), t_(limit) {}

    HEAPWOOD_INLINE void keep(float t, std::uint32_t triangle, std::uint32_t reference) {
        if (!(t < t_ || triangle < triangle_)) return;
        t_ = t;
        triangle_ = triangle;
        reference_ = reference;
    }

    Test test_;
    float t_;
    std::uint32_t triangle_ = Hit::kNone;
    std::uint32_t reference_ = 0;
};

/// Whether there is any hit: 1 or 0.
template <class Test>
class AnyQuery {
public:
    using Result = std::uint32_t;

    HEAPWOOD_INLINE explicit AnyQuery(const Ray& ray) : test_(ray), t_max_(ray.t_max) {}

    HEAPWOOD_INLINE float limit() const { return t_max_; }
    HEAPWOOD_INLINE bool is_done() const { return found_ != 0; }
    HEAPWOOD_INLINE void test(const RayTreeView& tree, std::uint32_t reference) {
        Hit hit;
        if (test_.meets(tree.triangle(reference), t_max_, hit)) found_ = 1;
    }
    HEAPWOOD_INLINE std::uint32_t result(const RayTreeView&) const { return found_; }

    template <platform::Warp W>
    HEAPWOOD_INLINE AnyQuery helper(const W& warp, unsigned lane) const {
        return {shuffled(warp, test_, lane), warp.shuffle(t_max_, lane)};
    }
    template <platform::Warp W>
    HEAPWOOD_INLINE void take(const W& warp, const AnyQuery& helper, unsigned lane) {
        if (warp.any(helper.is_done()) && warp.lane() == lane) found_ = 1;
    }

private:
    HEAPWOOD_INLINE AnyQuery(const Test& test, float t_max) : test_(test), t_max_(t_max) {}

    Test test_;
    float t_max_;
    std::uint32_t found_ = 0;
};

/// Tests a leaf's triangles.
template <class Query>
HEAPWOOD_INLINE void visit(const RayTreeView& tree, const RayNode& leaf, Query& query) {
    const std::uint32_t end = leaf.first() + leaf.count();
    for (std::uint32_t i = leaf.first(); i < end && !query.is_done(); ++i) query.test(tree, i);
}

/// Goes on from a leaf, whose triangles have been tested.
template <class Query, class Walk>
HEAPWOOD_INLINE void go_on(const RayTreeView& tree, const Query& query, Walk& walk) {
    if (query.is_done()) {
        walk.stop();
    } else {
        walk.leave(tree, query.limit());
    }
}

/// The result of a query for one ray.
template <class Query>
HEAPWOOD_INLINE typename Query::Result answer(const RayTreeView& tree, const Ray& ray) {
    Query query(ray);
    if (ray.is_valid()) {
        OwnMemory::Storage storage;
        RayWalk<OwnMemory> walk(tree, ray, OwnMemory(storage));
        while (walk.descend(tree, query.limit())) {
            visit(tree, walk.leaf(), query);
            go_on(tree, query, walk);
        }
    }
    return query.result(tree);
}

}  // namespace heapwood::kdtree
