/// @file
/// The contract as sentences: what a compiler says of a class that is not quite an allocator.
#pragma once

#include "allocators/allocator.cuh"

namespace heapwood::allocators {

/// Asks of a class, at compile time, all of PoolOwner; what lacks is a sentence of the compiler's.
/// For the end of a header: `static_assert(heapwood::allocators::keeps_contract<Mine>());`
/// @return true
template <class A>
consteval bool keeps_contract() {
    static_assert(
        requires { typename A::Ref; },
        "an allocator has a class Ref, the handle that a kernel takes by value");
    static_assert(HasTrivialRef<A>,
                  "Ref must be trivially copyable, for a kernel takes it by value: it has pointers "
                  "and numbers, no destructor, and no copy constructor of its own");
    static_assert(HasTraits<A>,
                  "an allocator has 'static constexpr heapwood::allocators::Traits traits()'");
    static_assert(MadeFromPoolConfig<A>,
                  "an allocator is made by 'explicit A(const heapwood::allocators::PoolConfig&)', "
                  "and has a public destructor");
    static_assert(GivesRef<A>, "an allocator has 'Ref ref() const'");
    static_assert(TellsItsBytes<A>,
                  "an allocator has 'std::uint64_t pool_bytes() const' and 'std::uint64_t "
                  "overhead_bytes() const'");
    static_assert(VisitsRegions<A>,
                  "an allocator has 'template <class Visitor> void for_each_region(Visitor&&) "
                  "const'; one that cannot be walked visits nothing, and its traits say so");
    static_assert(RefAllocates<A>,
                  "Ref has 'void* allocate(const heapwood::allocators::Context&, std::size_t) "
                  "const', for device code");
    static_assert(RefDeallocates<A>,
                  "Ref has 'void deallocate(const heapwood::allocators::Context&, void*, "
                  "std::size_t) const', for device code");
    static_assert(RefGrants<A>,
                  "Ref has 'std::uint64_t granted_bytes(const void*, std::size_t) const', for "
                  "device code; 0: unknown");
    static_assert(
        Resets<A> || !requires(A a) { a.reset(); },
        "reset() returns void and takes nothing; leave it out if the pool cannot be "
        "emptied: then each run gets a new pool");
    return true;
}

}  // namespace heapwood::allocators
