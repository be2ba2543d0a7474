/// @file
/// A pool of any allocator on any machine, behind virtual functions, so that the conformance suite
/// is compiled once and not for every allocator and machine.
///
/// On a CPU the bodies of bodies.h are compiled once too, for AnyRef, whose calls are virtual; on a
/// GPU they are compiled for every allocator (pools.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/measure/fragmentation.h"
#include "allocators/measure/statistics.h"
#include "tests/allocators/bodies.h"
#include "tests/allocators/scale.h"

namespace heapwood::tests {

/// A machine (tests/allocators/platform/machines.h) as a value, and how large the tests on it are.
struct AnyMachine {
    const char* name;
    bool (*available)();
    allocators::Place place;
    unsigned width;      ///< lanes of a warp
    unsigned warps;      ///< that call at once
    unsigned rounds;     ///< of each thread in a random test
    std::uint64_t pool;  ///< bytes of the largest pool that anybody makes
    /// More than 0 bytes, filled with zeros, that host and warps can both use. @throws if there are
    /// none.
    void* (*allocate)(std::size_t bytes);
    void (*free)(void*);

    /// How many threads call at once.
    unsigned threads() const { return warps * width; }
    /// Largest size of random blocks.
    std::uint64_t largest() const { return CommonScale::largest(pool, threads()); }
};

/// An array that the host and a machine's warps can both use, filled with zeros.
template <class T>
class SharedArray {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    SharedArray(const AnyMachine& machine, std::size_t size)
        : size_(size),
          data_(static_cast<T*>(machine.allocate((size + 1) * sizeof(T))), machine.free) {}

    T* data() { return data_.get(); }
    T* begin() { return data_.get(); }
    T* end() { return data_.get() + size_; }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_.get()[i]; }
    std::vector<T> copy() const { return {data_.get(), data_.get() + size_}; }

private:
    std::size_t size_;
    std::unique_ptr<T, void (*)(void*)> data_;
};

/// The calls of a Ref of the host.
class RefCalls {
public:
    virtual void* allocate(const allocators::Context& context, std::size_t bytes) const = 0;
    /// @throws std::logic_error if the Ref has no allocate_pair.
    virtual bool allocate_pair(const allocators::Context& context, const std::size_t (&bytes)[2],
                               void* (&blocks)[2]) const = 0;
    virtual void deallocate(const allocators::Context& context, void* p,
                            std::size_t bytes) const = 0;
    virtual std::uint64_t granted_bytes(const void* p, std::size_t bytes) const = 0;
    virtual void flush(const allocators::Context& context) const = 0;

protected:
    ~RefCalls() = default;
};

class AnyPool;

/// The Ref of any allocator, for bodies on the host. On a GPU it only names its pool in a body, and
/// AnyPool::run puts the true Ref there.
struct AnyRef {
    const RefCalls* calls = nullptr;
    AnyPool* pool = nullptr;

    void* allocate(const allocators::Context& context, std::size_t bytes) const {
        return calls->allocate(context, bytes);
    }
    bool allocate_pair(const allocators::Context& context, const std::size_t (&bytes)[2],
                       void* (&blocks)[2]) const {
        return calls->allocate_pair(context, bytes, blocks);
    }
    void deallocate(const allocators::Context& context, void* p, std::size_t bytes) const {
        calls->deallocate(context, p, bytes);
    }
    std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        return calls->granted_bytes(p, bytes);
    }
    void flush(const allocators::Context& context) const { calls->flush(context); }
};

/// What a pool can run.
using AnyBody = std::variant<RequestBody<AnyRef>, ReleaseBody<AnyRef>, FillBody<AnyRef>,
                             ChurnBody<AnyRef>, HandOverBody<AnyRef>, EmptyBoxesBody<AnyRef>,
                             PairBody<AnyRef>, PairHandOverBody<AnyRef>, TwoPoolsBody<AnyRef>>;

/// A pool of an allocator on a machine: the host object, and its Ref in the hands of bodies. No
/// function may be called while another runs.
class AnyPool {
public:
    AnyPool(const allocators::Traits& traits, const AnyMachine& machine)
        : traits_(traits), machine_(machine) {}
    AnyPool(const AnyPool&) = delete;
    AnyPool& operator=(const AnyPool&) = delete;
    virtual ~AnyPool() = default;

    const allocators::Traits& traits() const { return traits_; }
    const AnyMachine& machine() const { return machine_; }

    /// What bodies are made with; good until the next call.
    virtual AnyRef ref() = 0;
    /// Calls the body on every lane of so many warps, and returns when all are done.
    virtual void run(unsigned warps, const AnyBody& body) = 0;

    virtual std::uint64_t pool_bytes() const = 0;
    virtual void reset() = 0;
    /// What for_each_region visits, in its order.
    virtual std::vector<allocators::Region> regions() const = 0;
    /// What the regions add up to.
    allocators::PoolUse use() const;

    // Of the adaptors Counting and Limiting; any other allocator throws std::logic_error.
    virtual allocators::Statistics statistics() const = 0;
    virtual void freeze_at(std::uint64_t bytes) = 0;
    virtual bool frozen() const = 0;
    virtual void fail_after(std::uint64_t requests) = 0;
    virtual void fail_only(std::uint64_t number) = 0;
    virtual void fail_one_in(std::uint64_t period, std::uint64_t seed) = 0;
    /// Ref::fails, of a Ref made now.
    virtual bool fails(std::uint64_t number) const = 0;

private:
    allocators::Traits traits_;
    const AnyMachine& machine_;
};

/// Memory of the host, filled with zeros, to be freed by std::free. @throws std::bad_alloc
void* allocate_on_host(std::size_t bytes);

/// Runs a body on a machine of the host.
void run_on_host(const AnyMachine& machine, unsigned warps, const AnyBody& body);

/// @throws std::logic_error that says that the allocator has no such function.
[[noreturn]] void throw_not_offered(const char* function);

}  // namespace heapwood::tests
