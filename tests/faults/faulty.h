/// @file
/// Allocators whose requests are counted, and refused as told, for the tests of faults.
#pragma once

#include <cstdint>
#include <string>

#include "allocators/allocator.cuh"
#include "allocators/measure/counting.cuh"
#include "tests/allocators/limiting.cuh"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

/// Counts and refuses; what is refused does not reach A.
template <allocators::Allocator A>
class Faulty : public allocators::Counting<Limiting<A>> {
public:
    using allocators::Counting<Limiting<A>>::Counting;

    // As Limiting's.
    void fail_after(std::uint64_t requests) { this->inner().fail_after(requests); }
    void fail_only(std::uint64_t number) { this->inner().fail_only(number); }
    void fail_one_in(std::uint64_t period, std::uint64_t seed) {
        this->inner().fail_one_in(period, seed);
    }
};

/// Enlists A for the tests of faults. To be called once, to initialise a static variable.
/// @return true
template <class A>
bool enlist_faulty(const std::string& name) {
    return enlist<Faulty<A>, SerialMachine, Role::own>(name);
}

}  // namespace heapwood::tests
