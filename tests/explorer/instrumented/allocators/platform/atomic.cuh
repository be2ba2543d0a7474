/// @file
/// What stands in for allocators/platform/atomic.cuh in the explorer's tests: the same AtomicRef,
/// each method of which is one step of the explorer's memory model.
///
/// This folder precedes the project's in the include path, so that the allocators' sources are
/// compiled unchanged. Every method also learns from where it was called: schedules are printed
/// with source lines, and a test can weaken a single line.
#pragma once

#include <cstdint>
#include <type_traits>

#include "allocators/platform/macros.cuh"
#include "tests/explorer/explorer.h"

namespace heapwood::platform {

/// As the real one; here a block is the device.
enum class Scope { device, block };

inline namespace explored_atomics {

/// As the real one.
template <class T, Scope = Scope::device>
class AtomicRef {
    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
    using Order = tests::explorer::Order;
    using Site = tests::Site;

public:
    explicit AtomicRef(T& object) : object_(object) {}

    const void* address() const { return &object_; }

    T load_relaxed(Site s = Site::current()) const { return load(Order::relaxed, s); }
    T load_acquire(Site s = Site::current()) const { return load(Order::acquire, s); }

    void store_relaxed(T v, Site s = Site::current()) const { store(v, Order::relaxed, s); }
    void store_release(T v, Site s = Site::current()) const { store(v, Order::release, s); }

    T add_relaxed(T v, Site s = Site::current()) const { return update(add, v, Order::relaxed, s); }
    T add_acquire(T v, Site s = Site::current()) const { return update(add, v, Order::acquire, s); }
    T add_release(T v, Site s = Site::current()) const { return update(add, v, Order::release, s); }
    T add_acq_rel(T v, Site s = Site::current()) const { return update(add, v, Order::acq_rel, s); }
    T sub_relaxed(T v, Site s = Site::current()) const { return update(sub, v, Order::relaxed, s); }
    T sub_acquire(T v, Site s = Site::current()) const { return update(sub, v, Order::acquire, s); }
    T sub_release(T v, Site s = Site::current()) const { return update(sub, v, Order::release, s); }
    T sub_acq_rel(T v, Site s = Site::current()) const { return update(sub, v, Order::acq_rel, s); }
    T or_acquire(T v, Site s = Site::current()) const { return update(set, v, Order::acquire, s); }
    T or_acq_rel(T v, Site s = Site::current()) const { return update(set, v, Order::acq_rel, s); }
    T and_acquire(T v, Site s = Site::current()) const {
        return update(keep, v, Order::acquire, s);
    }
    T and_release(T v, Site s = Site::current()) const {
        return update(keep, v, Order::release, s);
    }
    T and_acq_rel(T v, Site s = Site::current()) const {
        return update(keep, v, Order::acq_rel, s);
    }
    T exchange_acquire(T v, Site s = Site::current()) const {
        return update(replace, v, Order::acquire, s);
    }
    T exchange_acq_rel(T v, Site s = Site::current()) const {
        return update(replace, v, Order::acq_rel, s);
    }
    void count_relaxed(T v, Site s = Site::current()) const { reduce(add, v, Order::relaxed, s); }
    void set_relaxed(T v, Site s = Site::current()) const { reduce(set, v, Order::relaxed, s); }
    void set_release(T v, Site s = Site::current()) const { reduce(set, v, Order::release, s); }
    void min_relaxed(T v, Site s = Site::current()) const { reduce(least, v, Order::relaxed, s); }
    void max_relaxed(T v, Site s = Site::current()) const { reduce(most, v, Order::relaxed, s); }

    bool cas_relaxed(T& expected, T desired, Site s = Site::current()) const {
        return compare_swap(expected, desired, Order::relaxed, Order::relaxed, s);
    }
    bool cas_acquire(T& expected, T desired, Site s = Site::current()) const {
        return compare_swap(expected, desired, Order::acquire, Order::relaxed, s);
    }
    bool cas_release(T& expected, T desired, Site s = Site::current()) const {
        return compare_swap(expected, desired, Order::release, Order::relaxed, s);
    }
    bool cas_acq_rel(T& expected, T desired, Site s = Site::current()) const {
        return compare_swap(expected, desired, Order::acq_rel, Order::acquire, s);
    }

private:
    using Bits = std::uint64_t;
    static Bits bits(T v) { return static_cast<std::make_unsigned_t<T>>(v); }

    static Bits add(Bits a, Bits b) { return bits(static_cast<T>(a + b)); }
    static Bits sub(Bits a, Bits b) { return bits(static_cast<T>(a - b)); }
    static Bits set(Bits a, Bits b) { return a | b; }
    static Bits keep(Bits a, Bits b) { return a & b; }
    static Bits replace(Bits, Bits b) { return b; }
    static Bits least(Bits a, Bits b) { return static_cast<T>(b) < static_cast<T>(a) ? b : a; }
    static Bits most(Bits a, Bits b) { return static_cast<T>(a) < static_cast<T>(b) ? b : a; }

    T load(Order order, Site s) const {
        return static_cast<T>(tests::explorer::atomic_load(&object_, sizeof(T), order, s));
    }
    void store(T v, Order order, Site s) const {
        tests::explorer::atomic_store(&object_, sizeof(T), bits(v), order, s);
    }
    T update(Bits (*change)(Bits, Bits), T v, Order order, Site s) const {
        return static_cast<T>(
            tests::explorer::atomic_update(&object_, sizeof(T), change, bits(v), order, s));
    }
    void reduce(Bits (*change)(Bits, Bits), T v, Order order, Site s) const {
        tests::explorer::atomic_update(&object_, sizeof(T), change, bits(v), order, s, false);
    }
    bool compare_swap(T& expected, T desired, Order success, Order failure, Site s) const {
        Bits found = bits(expected);
        const bool swapped = tests::explorer::atomic_compare_swap(
            &object_, sizeof(T), found, bits(desired), success, failure, s);
        expected = static_cast<T>(found);
        return swapped;
    }

    T& object_;
};

}  // namespace explored_atomics

}  // namespace heapwood::platform
