/// @file
/// A replay at the pace of its record: when its calls are due, and how far behind they began.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/measure/workload.cuh"
#include "allocators/memory/buffer.h"

namespace heapwood::app {

/// How long after they were due calls began, in milliseconds.
struct Behind {
    double median;
    double p99;  ///< 99 of 100 calls were no later
    double worst;
};

/// The calls of a script where they are made.
class Pace {
public:
    /// @param due ReplayScript::due, of one call at least
    Pace(allocators::Place place, std::vector<std::uint64_t> due);

    /// Has a replay of the script keep to it.
    void apply(allocators::Workload& launch);
    /// Of the last replay. @throws what Buffer::read() throws.
    Behind behind() const;

private:
    std::vector<std::uint64_t> due_;
    allocators::Buffer due_there_;
    allocators::Buffer begun_;
    allocators::Buffer start_;
};

/// How far calls that were due at these times were behind, by when they began; both are by step, in
/// nanoseconds. There is one call at least.
Behind behind(const std::vector<std::uint64_t>& due, const std::vector<std::uint64_t>& begun);

}  // namespace heapwood::app
