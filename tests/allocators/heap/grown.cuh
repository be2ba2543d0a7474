/// @file
/// Grown: pools that have grown, for the conformance suite.
#pragma once

#include <cstdint>

#include "allocators/heap/growing.cuh"

namespace heapwood::tests {

/// A Growing that is made with a third of its pool and has grown twice, where a third is enough
/// for A. The suite takes regions for addresses, which those of several parts are not: it sees no
/// walk, and check_growth() looks at that.
template <allocators::CanGrow A>
class Grown : public allocators::Growing<A> {
    using Base = allocators::Growing<A>;

public:
    static constexpr allocators::Traits traits() {
        allocators::Traits traits = A::traits();
        traits.walkable = false;
        return traits;
    }

    explicit Grown(const allocators::PoolConfig& config)
        : Base(parts(config) == 1 ? config : with(config, third(config))) {
        if (parts(config) == 1) return;
        this->grow(third(config));
        this->grow(config.bytes - 2 * third(config));
    }

    template <class Visitor>
    void for_each_region(Visitor&&) const {}

private:
    static std::uint64_t third(const allocators::PoolConfig& config) { return config.bytes / 3; }
    static unsigned parts(const allocators::PoolConfig& config) {
        return third(config) < A::traits().smallest_pool * 2 ? 1 : 3;
    }
    static allocators::PoolConfig with(allocators::PoolConfig config, std::uint64_t bytes) {
        config.bytes = bytes;
        return config;
    }
};

}  // namespace heapwood::tests
