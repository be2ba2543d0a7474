/// @file
/// What the conformance suite is run for. A source file enlists its allocators; the tests, which
/// are compiled apart, find them in the list.
#pragma once

#include <deque>
#include <iosfwd>
#include <memory>
#include <string>

#include "allocators/allocator.cuh"
#include "allocators/measure/counting.cuh"
#include "tests/allocators/any_pool.h"
#include "tests/allocators/limiting.cuh"
#include "tests/allocators/platform/machines.h"
#include "tests/allocators/pools.h"

namespace heapwood::tests {

/// An allocator on a machine.
struct AnySubject {
    std::string name;  ///< in the tests' names: letters, digits and underscores
    Role role;
    bool allocates_pairs;
    std::uint64_t extra_bytes;  ///< that a request takes beside its own
    allocators::Traits traits;
    const AnyMachine* machine;
    /// Makes a pool. @throws what the allocator's constructor throws
    std::unique_ptr<AnyPool> (*make)(const allocators::PoolConfig&);
};

/// All subjects of the executable: complete when main() begins, and no element moves.
std::deque<AnySubject>& subjects();

/// How gtest prints a test's subject.
void PrintTo(const AnySubject* subject, std::ostream* out);

/// A::kExtraBytes, where there is one.
template <class A>
constexpr std::uint64_t extra_bytes_of() {
    if constexpr (requires { A::kExtraBytes; }) {
        return A::kExtraBytes;
    } else {
        return 0;
    }
}

/// Enlists A on a Machine. To be called once, to initialise a static variable. @return true
template <class A, class Machine, Role role = Role::conformance>
bool enlist(const std::string& name) {
    subjects().push_back({name + "_" + Machine::name, role,
                          allocators::AllocatesPairs<typename A::Ref>, extra_bytes_of<A>(),
                          A::traits(),
                          &any_machine<Machine>(),
                          [](const allocators::PoolConfig& config) -> std::unique_ptr<AnyPool> {
                              using Pool = typename MachineParts<Machine>::template Pool<A, role>;
                              return std::make_unique<Pool>(any_machine<Machine>(), config);
                          }});
    return true;
}

/// Enlists A in the adaptors that have tests of their own.
template <class A, class Machine>
bool enlist_adapted(const std::string& name) {
    return enlist<allocators::Counting<A>, Machine, Role::counting>(name) &&
           enlist<tests::Limiting<A>, Machine, Role::limiting>(name);
}

}  // namespace heapwood::tests
