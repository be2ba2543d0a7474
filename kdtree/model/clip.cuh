/// @file
/// Cuts a reference at a split plane: boxes of the triangle's parts on either side.
#pragma once

#include "allocators/platform/macros.cuh"
#include "kdtree/model/reference.cuh"

namespace heapwood::kdtree {

/// Bounds along one axis.
struct Interval {
    float lo;
    float hi;

    HEAPWOOD_INLINE Interval with(float v) const { return {lesser(lo, v), greater(hi, v)}; }
    HEAPWOOD_INLINE Interval with(const Interval& i) const {
        return {lesser(lo, i.lo), greater(hi, i.hi)};
    }
    HEAPWOOD_INLINE Interval within(float l, float h) const {
        return {greater(lo, l), lesser(hi, h)};
    }
    HEAPWOOD_INLINE bool empty() const { return hi < lo; }
};

/// Bounds of where an edge from a to b crosses the plane, along one axis; t is the computed
/// quotient of the distances to the plane along the plane's axis, between 0 and 1.
///
/// The computed a + t (b - a) is off by at most 13 units of 2^-24 of the larger end: three
/// roundings in t, two in the product, one in the sum, each relative to |b - a| or to the result;
/// the last subtraction and addition make it 14. 2^-20 is 16 such units, and the smallest normal
/// number covers what underflows. Both bounds stay between the ends, as the exact crossing does.
HEAPWOOD_INLINE Interval crossing(float t, float a, float b) {
    const float v = a + t * (b - a);
    const float largest = greater(a < 0 ? -a : a, b < 0 ? -b : b);
    const float slack = largest * 9.5367431640625e-7F + 1.17549435e-38F;
    return Interval{v - slack, v + slack}.within(lesser(a, b), greater(a, b));
}

/// One of two vectors, by value and without branches. A choice between references would make a GPU
/// keep both vectors in local memory, for only there they have addresses.
HEAPWOOD_INLINE glm::vec3 chosen(bool first, const glm::vec3& a, const glm::vec3& b) {
    return {first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z};
}

/// Boxes of a triangle's parts below and above a plane, within the box of a reference that the
/// plane cuts (box.lo < position < box.hi along the axis).
///
/// Both are rounded outward: whatever of (triangle and box) lies on a side is inside that side's
/// box. Where the triangle turns out not to reach a side within the box, that side gets the box
/// cut at the plane, so that a reference is never lost and the counts the split was chosen by
/// stay true.
HEAPWOOD_INLINE void clip(const Triangle& t, const Box& box, unsigned axis, float position,
                          Box& below, Box& above) {
    // The three axes are renamed so that k is the split's; nothing is indexed at run time.
    const auto k = [axis](const glm::vec3& v) { return component(v, axis); };
    const auto u = [axis](const glm::vec3& v) { return axis == 0 ? v.y : v.x; };
    const auto w = [axis](const glm::vec3& v) { return axis == 2 ? v.y : v.z; };

    // One corner is alone on its side (corners in the plane count as above); its two edges cross.
    const bool a_below = k(t.a) < position;
    const bool b_below = k(t.b) < position;
    const bool c_below = k(t.c) < position;
    const bool a_alone = b_below == c_below;
    const bool b_alone = !a_alone && a_below == c_below;
    const glm::vec3 alone = chosen(a_alone, t.a, chosen(b_alone, t.b, t.c));
    const glm::vec3 p = chosen(a_alone, t.b, t.a);
    const glm::vec3 q = chosen(a_alone || b_alone, t.c, t.b);
    const bool alone_below = a_alone ? a_below : b_alone ? b_below : c_below;

    const float to_plane = position - k(alone);
    const float t_p = to_plane / (k(p) - k(alone));
    const float t_q = to_plane / (k(q) - k(alone));
    const Interval cut_u = crossing(t_p, u(alone), u(p)).with(crossing(t_q, u(alone), u(q)));
    const Interval cut_w = crossing(t_p, w(alone), w(p)).with(crossing(t_q, w(alone), w(q)));

    // The parts' bounds, within the box.
    const Interval tip_u = cut_u.with(u(alone)).within(u(box.lo), u(box.hi));
    const Interval tip_w = cut_w.with(w(alone)).within(w(box.lo), w(box.hi));
    const Interval base_u = cut_u.with(u(p)).with(u(q)).within(u(box.lo), u(box.hi));
    const Interval base_w = cut_w.with(w(p)).with(w(q)).within(w(box.lo), w(box.hi));
    const float lowest = alone_below ? k(alone) : lesser(k(p), k(q));
    const float highest = alone_below ? greater(k(p), k(q)) : k(alone);
    const Interval below_k{greater(lowest, k(box.lo)), position};
    const Interval above_k{position, lesser(highest, k(box.hi))};

    const auto assemble = [&](const Interval& ik, Interval iu, Interval iw, Box& out) {
        if (iu.empty() || iw.empty()) {
            iu = {u(box.lo), u(box.hi)};
            iw = {w(box.lo), w(box.hi)};
        }
        out.lo = axis == 0   ? glm::vec3(ik.lo, iu.lo, iw.lo)
                 : axis == 1 ? glm::vec3(iu.lo, ik.lo, iw.lo)
                             : glm::vec3(iu.lo, iw.lo, ik.lo);
        out.hi = axis == 0   ? glm::vec3(ik.hi, iu.hi, iw.hi)
                 : axis == 1 ? glm::vec3(iu.hi, ik.hi, iw.hi)
                             : glm::vec3(iu.hi, iw.hi, ik.hi);
    };
    assemble(below_k, alone_below ? tip_u : base_u, alone_below ? tip_w : base_w, below);
    assemble(above_k, alone_below ? base_u : tip_u, alone_below ? base_w : tip_w, above);
}

/// Cuts a reference that a plane crosses (`below`, of which `above` is a copy) into its parts: by
/// clipping its triangle, or by cutting its box alone.
HEAPWOOD_INLINE void cut(const Triangle* triangles, bool clip_triangle, unsigned axis,
                         float position, Reference& below, Reference& above) {
    if (clip_triangle) {
        Box low;
        Box high;
        clip(load_wide(triangles + below.primitive), {below.lo, below.hi}, axis, position, low,
             high);
        below.lo = low.lo;
        below.hi = low.hi;
        above.lo = high.lo;
        above.hi = high.hi;
    } else {
        set_component(below.hi, axis, position);
        set_component(above.lo, axis, position);
    }
}

}  // namespace heapwood::kdtree
