/// @file
/// The split search of split_exact.cuh for a warp of width 1: the same candidates, the same counts
/// and the same choice, by a CPU's vector instructions.
#pragma once

#include <cstdint>

#include "kdtree/model/reference.cuh"
#include "kdtree/split/cpu_version.h"
#include "kdtree/split/split_exact.cuh"

namespace heapwood::kdtree {

/// What ExactSearch is for a warp of many lanes.
///
/// Every candidate is compared with every reference, several candidates at a time: for so few
/// references that is not slower than to sort them.
class SerialExactSearch {
public:
    /// Counts for all candidates of n references.
    void count(const Reference* references, std::uint32_t n,
               CpuVersion version = fastest_cpu_version());

    /// After count: the best split of a cell that holds these n references.
    template <class W>
    Choice best(const W&, const Box& cell, std::uint32_t n, const CostModel& model,
                CpuVersion version = fastest_cpu_version()) const {
        static_assert(W::width == 1);
        return best(cell, n, model, version);
    }

private:
    Choice best(const Box& cell, std::uint32_t n, const CostModel& model, CpuVersion version) const;

    /// Candidates of one side are filled up to a multiple of this with some that no cell contains,
    /// so that loops over them end with a whole vector.
    static constexpr std::uint32_t kPadding = 8;
    static_assert(kExactMax % kPadding == 0);

    /// The candidates of an axis, and how many references are on either side of each: first the
    /// lower ends, filled up, of Side::right, then the upper ends.
    struct Candidates {
        float position[2 * kExactMax];
        std::int32_t left[2 * kExactMax];
        std::int32_t right[2 * kExactMax];
    };

    Candidates candidates_[3];
};

}  // namespace heapwood::kdtree
