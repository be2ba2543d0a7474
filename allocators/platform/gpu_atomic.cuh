/// @file
/// A GPU's atomic instructions, with the memory that their object is in.
///
/// cuda::atomic_ref takes objects anywhere, so with every operation comes code for objects in
/// shared memory and in a thread's own. Where it is known that there are none, that is a twentieth
/// of the time of a build (H100). Everything else about them is as the library has it. For
/// atomic.cuh alone, where a GPU's code is compiled.
#pragma once

#include <cstdint>
#include <type_traits>

#include "allocators/platform/macros.cuh"

namespace heapwood::platform::gpu {

enum class Order { relaxed, acquire, release, acq_rel };

/// Where an object is and among whom an operation on it is atomic.
enum class Place {
    global,  ///< global memory, all threads of the device
    shared,  ///< shared memory, the threads of one thread block
};

#define HEAPWOOD_ATOM(order, place, operation, type, reg, at)                    \
    asm volatile("atom." order "." place "." operation "." type " %0, [%1], %2;" \
                 : "=" reg(old)                                                  \
                 : at(address), reg(word)                                        \
                 : "memory")
#define HEAPWOOD_ATOM_CAS(order, place, operation, type, reg, at)                    \
    asm volatile("atom." order "." place "." operation "." type " %0, [%1], %2, %3;" \
                 : "=" reg(old)                                                      \
                 : at(address), reg(compare), reg(word)                              \
                 : "memory")
#define HEAPWOOD_ATOM_ORDERED(instruction, ...)                                      \
    do {                                                                             \
        if constexpr (kOrder == Order::relaxed) instruction("relaxed", __VA_ARGS__); \
        if constexpr (kOrder == Order::acquire) instruction("acquire", __VA_ARGS__); \
        if constexpr (kOrder == Order::release) instruction("release", __VA_ARGS__); \
        if constexpr (kOrder == Order::acq_rel) instruction("acq_rel", __VA_ARGS__); \
    } while (false)
#define HEAPWOOD_ATOM_SIZED(instruction, place, operation, kind, at)                  \
    do {                                                                              \
        if constexpr (sizeof(T) == 4) {                                               \
            HEAPWOOD_ATOM_ORDERED(instruction, place, operation, kind "32", "r", at); \
        } else {                                                                      \
            HEAPWOOD_ATOM_ORDERED(instruction, place, operation, kind "64", "l", at); \
        }                                                                             \
    } while (false)
#define HEAPWOOD_ATOM_PLACED(instruction, operation, kind)                                     \
    do {                                                                                       \
        if constexpr (kPlace == Place::global) {                                               \
            const std::uint64_t address = __cvta_generic_to_global(object);                    \
            HEAPWOOD_ATOM_SIZED(instruction, "gpu.global", operation, kind, "l");              \
        } else {                                                                               \
            const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(object)); \
            HEAPWOOD_ATOM_SIZED(instruction, "cta.shared", operation, kind, "r");              \
        }                                                                                      \
    } while (false)
#define HEAPWOOD_ATOM_FUNCTION(name, operation, kind)                  \
    template <Order kOrder, Place kPlace, class T>                     \
    HEAPWOOD_INLINE T name(T* object, T value) {                       \
        const auto word = static_cast<std::make_unsigned_t<T>>(value); \
        std::make_unsigned_t<T> old;                                   \
        HEAPWOOD_ATOM_PLACED(HEAPWOOD_ATOM, operation, kind);          \
        return static_cast<T>(old);                                    \
    }

/// Each returns the value before it.
HEAPWOOD_ATOM_FUNCTION(add, "add", "u")
HEAPWOOD_ATOM_FUNCTION(set_bits, "or", "b")
HEAPWOOD_ATOM_FUNCTION(keep_bits, "and", "b")
HEAPWOOD_ATOM_FUNCTION(exchange, "exch", "b")

/// Replaces `expected` by `desired`; stores the value before into `expected` if it was another.
/// The order is that of a failure, too.
template <Order kOrder, Place kPlace, class T>
HEAPWOOD_INLINE bool compare_exchange(T* object, T& expected, T desired) {
    const auto word = static_cast<std::make_unsigned_t<T>>(desired);
    const auto compare = static_cast<std::make_unsigned_t<T>>(expected);
    std::make_unsigned_t<T> old;
    HEAPWOOD_ATOM_PLACED(HEAPWOOD_ATOM_CAS, "cas", "b");
    expected = static_cast<T>(old);
    return old == compare;
}

#undef HEAPWOOD_ATOM_FUNCTION
#undef HEAPWOOD_ATOM_PLACED
#undef HEAPWOOD_ATOM_SIZED
#undef HEAPWOOD_ATOM_ORDERED
#undef HEAPWOOD_ATOM_CAS
#undef HEAPWOOD_ATOM

}  // namespace heapwood::platform::gpu
