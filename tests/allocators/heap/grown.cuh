/// @file
/// Grown: pools that have grown, for the conformance suite.
#pragma once

#include <cstdint>

#include "allocators/heap/growing.cuh"

namespace heapwood::tests {

/// A Growing without a walk. The suite takes regions for addresses, which those of several parts
/// are not; check_growth() looks at the walk.
template <allocators::CanGrow A>
class Unwalked : public allocators::Growing<A> {
public:
    using allocators::Growing<A>::Growing;

    static constexpr allocators::Traits traits() {
        allocators::Traits traits = A::traits();
        traits.walkable = false;
        return traits;
    }
    template <class Visitor>
    void for_each_region(Visitor&&) const {}
};

/// A pool that is made with a third of its bytes and has grown twice, where a third is enough for
/// A.
template <allocators::CanGrow A>
class Grown : public Unwalked<A> {
    using Base = Unwalked<A>;

public:
    explicit Grown(const allocators::PoolConfig& config)
        : Base(parts(config) == 1 ? config : with(config, third(config))) {
        if (parts(config) == 1) return;
        this->grow(third(config));
        this->grow(config.bytes - 2 * third(config));
    }

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
