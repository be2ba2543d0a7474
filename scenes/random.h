/// @file
/// Random numbers and noise that are the same everywhere: integers, and of floating point only
/// operations that IEEE 754 rounds in one way (+ - * / and sqrt; no library function, and the
/// project compiles without contraction).
#pragma once

#include <cmath>
#include <cstdint>

namespace heapwood::scenes {

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014, figure 16): a bijection of 64 bits.
inline std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/// A double in [0, 1) from the upper 53 bits.
inline double to_unit(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// A point or direction in double precision.
struct Point {
    double x = 0, y = 0, z = 0;
};

inline Point operator+(Point a, Point b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
inline Point operator-(Point a, Point b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline Point operator*(double s, Point a) {
    return {s * a.x, s * a.y, s * a.z};
}
inline double dot(Point a, Point b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
inline Point cross(Point a, Point b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline Point normalized(Point a) {
    return (1 / std::sqrt(dot(a, a))) * a;
}

/// SplitMix64: a sequence of 64-bit numbers.
class Random {
public:
    /// The sequence of a seed and a number; sequences of different numbers are unrelated, so that
    /// every object of a scene can have its own.
    explicit Random(std::uint64_t seed, std::uint64_t sequence = 0)
        : state_(mix(seed + kStep) ^ mix(mix(sequence + 2 * kStep))) {}

    std::uint64_t next() { return mix(state_ += kStep); }

    /// In [0, 1).
    double unit() { return to_unit(next()); }

    /// In [lo, hi).
    double range(double lo, double hi) { return lo + (hi - lo) * unit(); }

    /// In the cube from lo to hi.
    Point in_cube(double lo, double hi) {
        const double x = range(lo, hi), y = range(lo, hi), z = range(lo, hi);
        return {x, y, z};
    }

    /// A direction, by rejection from the ball.
    Point direction() {
        for (;;) {
            const Point p = in_cube(-1, 1);
            const double square = dot(p, p);
            if (square <= 1 && square > 1e-6) return normalized(p);
        }
    }

private:
    static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
    std::uint64_t state_;
};

/// Smooth noise in [-1, 1]: random values at the points of the integer lattice, blended.
class Noise {
public:
    explicit Noise(std::uint64_t seed) : seed_(mix(seed)) {}

    /// One octave. Coordinates must be below 2^31 in magnitude.
    double operator()(Point p) const {
        const Cell x = cell(p.x), y = cell(p.y), z = cell(p.z);
        double value = 0;
        for (int corner = 0; corner != 8; ++corner) {
            const int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
            value +=
                x.weight[i] * y.weight[j] * z.weight[k] * lattice(x.at + i, y.at + j, z.at + k);
        }
        return value;
    }

    /// A sum of octaves, each of twice the frequency and half the height; in (-2, 2).
    double octaves(Point p, int count) const {
        double value = 0, height = 1;
        for (int i = 0; i != count; ++i) {
            value += height * (*this)(p);
            // The shift keeps the lattices of the octaves from meeting at the origin.
            p = 2.0 * p + Point{17.25, 5.75, 11.5};
            height *= 0.5;
        }
        return value;
    }

private:
    struct Cell {
        std::int64_t at;
        double weight[2];
    };

    static Cell cell(double x) {
        auto at = static_cast<std::int64_t>(x);
        if (static_cast<double>(at) > x) --at;
        const double t = x - static_cast<double>(at);
        const double blend = t * t * (3 - 2 * t);
        return {at, {1 - blend, blend}};
    }

    double lattice(std::int64_t x, std::int64_t y, std::int64_t z) const {
        const auto hash = mix(seed_ + static_cast<std::uint64_t>(x) * 0x9E3779B97F4A7C15u +
                              static_cast<std::uint64_t>(y) * 0xC2B2AE3D27D4EB4Fu +
                              static_cast<std::uint64_t>(z) * 0x165667B19E3779F9u);
        return 2 * to_unit(hash) - 1;
    }

    std::uint64_t seed_;
};

}  // namespace heapwood::scenes
