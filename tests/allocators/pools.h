/// @file
/// Pools of given allocators, for those who know only AnyPool. Nothing here is a test: this is all
/// of the suite that is compiled for each allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "allocators/allocator.cuh"
#include "tests/allocators/any_pool.h"
#include "tests/allocators/platform/machines.h"
#include "tests/allocators/scale.h"

namespace heapwood::tests {

/// Which tests a pool is for.
enum class Role {
    conformance,  ///< those of any allocator, and those of pairs if it allocates them
    counting,     ///< those of Counting, which it is wrapped in
    limiting,     ///< those of Limiting, which it is wrapped in
    own,          ///< its own, which run their bodies themselves (fixture.h)
};

/// The host object's side, the same on every machine.
template <class A>
class PoolOf : public AnyPool {
public:
    /// A pool of its own. @throws what A's constructor throws
    PoolOf(const AnyMachine& machine, const allocators::PoolConfig& config)
        : AnyPool(A::traits(), machine), own_(std::make_unique<A>(config)), a_(*own_) {}
    /// Somebody else's.
    PoolOf(const AnyMachine& machine, A& a) : AnyPool(A::traits(), machine), a_(a) {}

    std::uint64_t pool_bytes() const override { return a_.pool_bytes(); }
    void reset() override { a_.reset(); }
    std::vector<allocators::Region> regions() const override {
        std::vector<allocators::Region> all;
        std::as_const(a_).for_each_region([&](const allocators::Region& r) { all.push_back(r); });
        return all;
    }

    allocators::Statistics statistics() const override {
        if constexpr (kCounts) {
            return a_.statistics();
        } else {
            throw_not_offered("statistics");
        }
    }
    void freeze_at(std::uint64_t bytes) override {
        if constexpr (kCounts) {
            return a_.freeze_at(bytes);
        } else {
            throw_not_offered("freeze_at");
        }
    }
    bool frozen() const override {
        if constexpr (kCounts) {
            return a_.frozen();
        } else {
            throw_not_offered("frozen");
        }
    }
    void fail_after(std::uint64_t requests) override {
        if constexpr (kFails) {
            return a_.fail_after(requests);
        } else {
            throw_not_offered("fail_after");
        }
    }
    void fail_only(std::uint64_t number) override {
        if constexpr (kFails) {
            return a_.fail_only(number);
        } else {
            throw_not_offered("fail_only");
        }
    }
    void fail_one_in(std::uint64_t period, std::uint64_t seed) override {
        if constexpr (kFails) {
            return a_.fail_one_in(period, seed);
        } else {
            throw_not_offered("fail_one_in");
        }
    }
    bool fails(std::uint64_t number) const override {
        if constexpr (requires { a_.ref().fails(number); }) {
            return a_.ref().fails(number);
        } else {
            throw_not_offered("fails");
        }
    }

protected:
    static constexpr bool kCounts = requires(A & a) { a.freeze_at(1); };
    static constexpr bool kFails = requires(A & a) { a.fail_after(1); };

    std::unique_ptr<A> own_;
    A& a_;
};

/// A pool on a machine of the host.
template <class A>
class ArrayPool final : public PoolOf<A>, private RefCalls {
public:
    using PoolOf<A>::PoolOf;

    AnyRef ref() override {
        ref_.emplace(this->a_.ref());
        return {this, this};
    }
    void run(unsigned warps, const AnyBody& body) override {
        run_on_host(this->machine(), warps, body);
    }

private:
    using Context = allocators::Context;

    void* allocate(const Context& context, std::size_t bytes) const override {
        return ref_->allocate(context, bytes);
    }
    bool allocate_pair(const Context& context, const std::size_t (&bytes)[2],
                       void* (&blocks)[2]) const override {
        if constexpr (allocators::AllocatesPairs<typename A::Ref>) {
            return ref_->allocate_pair(context, bytes, blocks);
        } else {
            throw_not_offered("allocate_pair");
        }
    }
    void deallocate(const Context& context, void* p, std::size_t bytes) const override {
        ref_->deallocate(context, p, bytes);
    }
    std::uint64_t granted_bytes(const void* p, std::size_t bytes) const override {
        return ref_->granted_bytes(p, bytes);
    }
    void flush(const Context& context) const override { allocators::flush(*ref_, context); }

    std::optional<typename A::Ref> ref_;
};

#if defined(__CUDACC__)

// The body, for another Ref.
template <class Ref>
RequestBody<Ref> with_ref(const Ref& ref, const RequestBody<AnyRef>& b) {
    return {ref, b.blocks, b.count, b.tally};
}
template <class Ref>
ReleaseBody<Ref> with_ref(const Ref& ref, const ReleaseBody<AnyRef>& b) {
    return {ref, b.blocks, b.count, b.threads, b.multiprocessors, b.tally};
}
template <class Ref>
FillBody<Ref> with_ref(const Ref& ref, const FillBody<AnyRef>& b) {
    return {ref, b.bytes, b.blocks, b.capacity, b.count, b.multiprocessors, b.tally};
}
template <class Ref>
ChurnBody<Ref> with_ref(const Ref& ref, const ChurnBody<AnyRef>& b) {
    return {ref,    b.slots,           b.slots_each, b.rounds, b.largest,
            b.seed, b.multiprocessors, b.tally,      b.log};
}
template <class Ref>
HandOverBody<Ref> with_ref(const Ref& ref, const HandOverBody<AnyRef>& b) {
    return {ref, b.boxes, b.box_count, b.rounds, b.largest, b.seed, b.multiprocessors, b.tally};
}
template <class Ref>
EmptyBoxesBody<Ref> with_ref(const Ref& ref, const EmptyBoxesBody<AnyRef>& b) {
    return {with_ref(ref, b.hand_over)};
}
template <class Ref>
PairBody<Ref> with_ref(const Ref& ref, const PairBody<AnyRef>& b) {
    return {ref, b.blocks, b.pairs, b.tally};
}
template <class Ref>
PairHandOverBody<Ref> with_ref(const Ref& ref, const PairHandOverBody<AnyRef>& b) {
    return {with_ref(ref, b.hand_over), b.too_large};
}

/// A pool on the GPU. It can run only what the tests of its role run: every body is a kernel, and
/// kernels take long to compile.
template <class A, Role role>
class DevicePool final : public PoolOf<A> {
public:
    using PoolOf<A>::PoolOf;

    AnyRef ref() override { return {nullptr, this}; }
    void run(unsigned warps, const AnyBody& body) override {
        std::visit([&](const auto& b) { run_one(warps, b); }, body);
    }

private:
    using Ref = typename A::Ref;

    template <class Body>
    void run_one(unsigned warps, const Body& body) {
        if constexpr (runs<Body>() && is<Body, TwoPoolsBody>) {
            const auto ref_of = [](const AnyRef& ref) {
                return static_cast<DevicePool&>(*ref.pool).a_.ref();
            };
            const TwoPoolsBody<Ref> two{{ref_of(body.refs[0]), ref_of(body.refs[1])},
                                        body.blocks,
                                        body.each,
                                        body.multiprocessors,
                                        body.tally};
            DeviceMachine::run(warps, two);
        } else if constexpr (runs<Body>()) {
            DeviceMachine::run(warps, with_ref(this->a_.ref(), body));
        } else {
            throw_not_offered("kernel for this body");
        }
    }
    template <class Body>
    static constexpr bool runs() {
        constexpr bool pairs = allocators::AllocatesPairs<Ref>;
        if (is<Body, RequestBody> || is<Body, ReleaseBody>) return true;
        if (role == Role::own) return false;
        if (is<Body, ChurnBody>) return true;
        if (is<Body, PairBody>) return pairs;
        return role == Role::conformance && (pairs || !is<Body, PairHandOverBody>);
    }
    template <class Body, template <class> class Other>
    static constexpr bool is = std::is_same_v<Body, Other<AnyRef>>;
};

#endif

/// What AnyPool needs to know of a machine beside its Scale.
template <class Machine>
struct MachineParts {
    template <class A, Role role>
    using Pool = ArrayPool<A>;

    static void* allocate(std::size_t bytes) { return allocate_on_host(bytes); }
    static void free(void* p) { std::free(p); }
};
#if defined(__CUDACC__)
template <>
struct MachineParts<DeviceMachine> {
    template <class A, Role role>
    using Pool = DevicePool<A, role>;

    static void* allocate(std::size_t bytes) {
        void* p = nullptr;
        require_cuda(cudaMallocManaged(&p, bytes));
        std::memset(p, 0, bytes);
        return p;
    }
    static void free(void* p) { cudaFree(p); }
};
#endif

/// The machine as a value.
template <class Machine>
const AnyMachine& any_machine() {
    static const AnyMachine machine{.name = Machine::name,
                                    .available = &Machine::available,
                                    .place = Scale<Machine>::place,
                                    .width = Machine::Warp::width,
                                    .warps = Scale<Machine>::warps,
                                    .rounds = Scale<Machine>::rounds,
                                    .pool = Scale<Machine>::pool,
                                    .allocate = &MachineParts<Machine>::allocate,
                                    .free = &MachineParts<Machine>::free};
    return machine;
}

}  // namespace heapwood::tests
