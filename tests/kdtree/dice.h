/// @file
/// Random numbers for tests, the same for one seed on every machine.
#pragma once

#include <cstdint>
#include <random>

#include "scenes/glm.h"
#include "tests/seed.h"

namespace heapwood::kdtree::tests {

/// Draws numbers and points from a seed, by default from test_seed(), which prints it.
class Dice {
public:
    using result_type = std::uint64_t;

    Dice() : Dice(heapwood::tests::test_seed()) {}
    explicit Dice(std::uint64_t seed) : seed_(seed), engine_(seed) {}

    std::uint64_t seed() const { return seed_; }

    /// One of 0 .. bound - 1.
    unsigned below(std::size_t bound) { return static_cast<unsigned>(engine_() % bound); }
    /// One of lo .. hi.
    int integer(int lo, int hi) { return lo + static_cast<int>(below(std::size_t(hi - lo + 1))); }
    float uniform(float lo, float hi) {
        const double unit = static_cast<double>(engine_() >> 11) * 0x1p-53;
        return lo + static_cast<float>(unit) * (hi - lo);
    }
    glm::vec3 point(float lo, float hi) {
        const float x = uniform(lo, hi);
        const float y = uniform(lo, hi);
        return {x, y, uniform(lo, hi)};
    }

    /// As a standard generator, for std::shuffle.
    std::uint64_t operator()() { return engine_(); }
    static constexpr std::uint64_t min() { return 0; }
    static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }

private:
    std::uint64_t seed_;
    std::mt19937_64 engine_;
};

}  // namespace heapwood::kdtree::tests
