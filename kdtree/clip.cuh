/// @file
/// Cuts a reference at a split plane: boxes of the triangle's parts on either side.
#pragma once

#include "allocators/platform/bits.cuh"
#include "kdtree/reference.cuh"

namespace heapwood::kdtree {

/// The next float above v (v finite). Never returns -0, as no coordinate of ours is.
HEAPWOOD_INLINE float next_up(float v) {
    const std::uint32_t bits = platform::float_bits(v);
    if (v == 0) return platform::bits_float(1);
    return platform::bits_float(v > 0 ? bits + 1 : bits - 1) + 0.0F;
}

/// The next float below v.
HEAPWOOD_INLINE float next_down(float v) {
    return -next_up(-v) + 0.0F;
}

/// Bounds along one axis that grow.
struct Interval {
    float lo = platform::bits_float(0x7f7fffffU);
    float hi = platform::bits_float(0xff7fffffU);

    HEAPWOOD_INLINE void add(float v) { add(v, v); }
    HEAPWOOD_INLINE void add(float l, float h) {
        lo = lesser(lo, l);
        hi = greater(hi, h);
    }
};

/// Bounds of where an edge crosses the plane, along another axis.
///
/// The edge runs from (a_k, a) to (b_k, b), and a_k < s < b_k or the reverse. The computed
/// a + t (b - a) is off by at most 13 units of 2^-24 of the larger end (three roundings in t, two
/// in the product, one in the sum, each relative to |b - a| or to the result), for which 2^-20
/// is an upper bound; the last step to the next float covers denormals. Both bounds stay between
/// the ends, where the exact crossing is.
HEAPWOOD_INLINE Interval crossing(float a_k, float a, float b_k, float b, float s) {
    const float t = (s - a_k) / (b_k - a_k);
    const float v = a + t * (b - a);
    const float largest = greater(a < 0 ? -a : a, b < 0 ? -b : b);
    const float slack = largest * 9.5367431640625e-7F;
    Interval i;
    i.lo = greater(lesser(a, b), next_down(v - slack));
    i.hi = lesser(greater(a, b), next_up(v + slack));
    return i;
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

    Interval below_k, below_u, below_w, above_k, above_u, above_w;
    const auto corner = [&](const glm::vec3& v) {
        if (k(v) <= position) {
            below_k.add(k(v));
            below_u.add(u(v));
            below_w.add(w(v));
        }
        if (k(v) >= position) {
            above_k.add(k(v));
            above_u.add(u(v));
            above_w.add(w(v));
        }
    };
    const auto edge = [&](const glm::vec3& a, const glm::vec3& b) {
        if ((k(a) < position && k(b) > position) || (k(a) > position && k(b) < position)) {
            const Interval cu = crossing(k(a), u(a), k(b), u(b), position);
            const Interval cw = crossing(k(a), w(a), k(b), w(b), position);
            below_u.add(cu.lo, cu.hi);
            above_u.add(cu.lo, cu.hi);
            below_w.add(cw.lo, cw.hi);
            above_w.add(cw.lo, cw.hi);
        }
    };
    corner(t.a);
    corner(t.b);
    corner(t.c);
    edge(t.a, t.b);
    edge(t.b, t.c);
    edge(t.c, t.a);

    const auto within = [&](const Interval& ik, const Interval& iu, const Interval& iw, float lo,
                            float hi, Box& out) {
        const float k_lo = greater(lo, ik.lo);
        const float k_hi = lesser(hi, ik.hi);
        const float u_lo = greater(u(box.lo), iu.lo);
        const float u_hi = lesser(u(box.hi), iu.hi);
        const float w_lo = greater(w(box.lo), iw.lo);
        const float w_hi = lesser(w(box.hi), iw.hi);
        if (k_lo <= k_hi && u_lo <= u_hi && w_lo <= w_hi) {
            out.lo = axis == 0   ? glm::vec3(k_lo, u_lo, w_lo)
                     : axis == 1 ? glm::vec3(u_lo, k_lo, w_lo)
                                 : glm::vec3(u_lo, w_lo, k_lo);
            out.hi = axis == 0   ? glm::vec3(k_hi, u_hi, w_hi)
                     : axis == 1 ? glm::vec3(u_hi, k_hi, w_hi)
                                 : glm::vec3(u_hi, w_hi, k_hi);
        } else {
            out = box;
            set_component(out.lo, axis, lo);
            set_component(out.hi, axis, hi);
        }
    };
    // The triangle crosses the plane, so below it is bounded by the plane, and above likewise.
    below_k.hi = position;
    above_k.lo = position;
    within(below_k, below_u, below_w, k(box.lo), position, below);
    within(above_k, above_u, above_w, position, k(box.hi), above);
}

}  // namespace heapwood::kdtree
