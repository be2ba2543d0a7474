/// @file
/// All hits of one ray, front to back.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/rays/ray_walk.cuh"

namespace heapwood::kdtree {

/// The hits of a ray in the order of t, and at the same t of the triangles' numbers: each triangle
/// that the ray meets once, however many leaves have it.
///
///     OrderedHits hits(tree, ray);
///     for (Hit hit; hits.next(hit);) { ... }
///
/// Takes bounded memory however many hits there are, and no more work than the hits that are asked
/// for: a walk gathers the next kWindow hits and stops at the first cell that begins beyond them,
/// for cells are disjoint and come in order. The walk after it begins where it ended. Results are
/// as traversal.cuh says. Neither tree nor ray is copied: both must outlive the object.
template <class Test = TriangleTest>
class OrderedHits {
public:
    /// Hits that one walk gathers: 12 bytes each in the thread's memory.
    static constexpr std::uint32_t kWindow = 8;

    HEAPWOOD_FN OrderedHits(const RayTreeView& tree, const Ray& ray)
        : tree_(tree), ray_(ray), next_t_(ray.t_min), exhausted_(!ray.is_valid()) {}
    /// A ray without a name ends before the object.
    OrderedHits(const RayTreeView& tree, Ray&& ray) = delete;

    /// The next hit, with t, u and v; false if there is none.
    HEAPWOOD_FN bool next(Hit& hit) {
        Found found;
        if (!next(found)) return false;
        hit.t = found.t;
        hit.triangle = found.triangle;
        Test(ray_).locate(tree_.triangle(found.reference), hit);
        return true;
    }

    /// How many there are from here on.
    HEAPWOOD_FN std::uint32_t count() {
        std::uint32_t n = 0;
        for (Found found; next(found);) ++n;
        return n;
    }

private:
    struct Found {
        float t;
        std::uint32_t triangle;
        std::uint32_t reference;

        HEAPWOOD_INLINE bool is_before(const Found& other) const {
            return t < other.t || (t == other.t && triangle < other.triangle);
        }
    };

    HEAPWOOD_INLINE bool next(Found& found) {
        if (at_ == size_) {
            if (exhausted_) return false;
            gather();
            if (size_ == 0) return false;
        }
        found = window_[at_++];
        next_t_ = found.t;
        next_triangle_ = found.triangle + 1;
        return true;
    }

    /// Fills the window with the first hits that are not before (next_t_, next_triangle_).
    HEAPWOOD_FN void gather() {
        OwnMemory::Storage storage;
        Ray rest = ray_;
        rest.t_min = next_t_;
        const Test test(rest);
        RayWalk<OwnMemory> walk(tree_, rest, OwnMemory(storage));
        float limit = rest.t_max;
        at_ = 0;
        size_ = 0;
        while (walk.descend(tree_, limit)) {
            const RayNode leaf = walk.leaf();
            for (std::uint32_t i = leaf.first(); i < leaf.first() + leaf.count(); ++i) {
                Hit hit;
                if (!test.meets(tree_.triangle(i), limit, hit)) continue;
                if (hit.t == next_t_ && hit.triangle < next_triangle_) continue;
                insert({hit.t, hit.triangle, i});
                if (size_ == kWindow) limit = window_[kWindow - 1].t;
            }
            walk.leave(tree_, limit);
        }
        exhausted_ = size_ < kWindow;
    }

    /// Keeps the window sorted; drops what is there already, and the last one when it is full.
    HEAPWOOD_INLINE void insert(const Found& found) {
        std::uint32_t place = size_;
        while (place > 0 && found.is_before(window_[place - 1])) --place;
        if (place > 0 && window_[place - 1].triangle == found.triangle &&
            window_[place - 1].t == found.t) {
            return;
        }
        if (place == kWindow) return;
        if (size_ < kWindow) ++size_;
        for (std::uint32_t i = size_ - 1; i > place; --i) window_[i] = window_[i - 1];
        window_[place] = found;
    }

    const RayTreeView& tree_;
    const Ray& ray_;
    float next_t_;
    std::uint32_t next_triangle_ = 0;
    std::uint32_t at_ = 0;
    std::uint32_t size_ = 0;
    bool exhausted_;
    Found window_[kWindow];
};

}  // namespace heapwood::kdtree
