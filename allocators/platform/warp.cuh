/// @file
/// A warp as an object: the same builder and allocator code runs on the 32 lanes of a GPU's warp
/// and on a CPU, where one thread is a warp of width 1.
///
/// Every collective must be called by all lanes of the warp, converged in program order but not
/// in lockstep (independent thread scheduling). `sync` also orders memory among the lanes: what
/// a lane wrote before it, all lanes see after it.
#pragma once

#include <concepts>
#include <cstdint>
#include <thread>
#include <type_traits>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::platform {

/// What a warp can do. `T` of shuffles and reductions is an arithmetic type of 4 or 8 bytes.
///
/// - `width` lanes, `lane()` is this one's number.
/// - `sync()` waits for all lanes and makes their writes visible to one another.
/// - `ballot(p)`: bit i tells whether lane i passed true. `any(p)`, `all(p)`: of all lanes.
/// - `match(v)`: bit i tells whether lane i passed the same word.
/// - `shuffle(v, i)`: lane i's v.
/// - `rank(p)`: how many lower lanes passed true. `count(p)`: how many lanes passed true.
/// - `sum(v)`, `min(v)`, `max(v)`: over all lanes, the result in every lane. A minimum or maximum
///   of floats takes -0 as below +0, whatever the lanes, and must not meet a NaN.
/// - `inclusive_sum(v)`: over this and all lower lanes. `inclusive_sums(vs)`: of each element of an
///   array, in its place; on a GPU they take little more time than one.
/// - `back_off(n)`: a pause before the n-th retry (n from 0), growing to a bound. Not collective.
template <class W>
concept Warp = requires(const W w, bool p, unsigned i, std::uint32_t v, std::uint32_t (&vs)[2]) {
    { W::width } -> std::convertible_to<unsigned>;
    { w.lane() } -> std::same_as<unsigned>;
    { w.sync() } -> std::same_as<void>;
    { w.ballot(p) } -> std::same_as<std::uint32_t>;
    { w.any(p) } -> std::same_as<bool>;
    { w.all(p) } -> std::same_as<bool>;
    { w.match(v) } -> std::same_as<std::uint32_t>;
    { w.shuffle(v, i) } -> std::same_as<std::uint32_t>;
    { w.rank(p) } -> std::same_as<unsigned>;
    { w.count(p) } -> std::same_as<unsigned>;
    { w.sum(v) } -> std::same_as<std::uint32_t>;
    { w.min(v) } -> std::same_as<std::uint32_t>;
    { w.max(v) } -> std::same_as<std::uint32_t>;
    { w.inclusive_sum(v) } -> std::same_as<std::uint32_t>;
    { w.inclusive_sums(vs) } -> std::same_as<void>;
    { W::back_off(i) } -> std::same_as<void>;
};

/// Pauses the calling thread before its n-th retry: on a GPU 32 ns doubling to about 1 us, on a
/// CPU a yield, since there may be more threads than cores.
HEAPWOOD_INLINE void back_off(unsigned n) {
#if defined(__CUDA_ARCH__)
    __nanosleep(32U << (n < 5 ? n : 5));
#else
    (void)n;
    std::this_thread::yield();
#endif
}

/// The calling thread's number in its warp, in a block of any shape; 0 on a CPU.
HEAPWOOD_INLINE unsigned lane_of_caller() {
#if defined(__CUDA_ARCH__)
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
#else
    return 0;
#endif
}

/// The warp of a CPU build: one thread, width 1, every collective trivial.
struct SerialWarp {
    static constexpr unsigned width = 1;

    HEAPWOOD_INLINE unsigned lane() const { return 0; }
    HEAPWOOD_INLINE void sync() const {}
    HEAPWOOD_INLINE std::uint32_t ballot(bool p) const { return p ? 1U : 0U; }
    HEAPWOOD_INLINE bool any(bool p) const { return p; }
    HEAPWOOD_INLINE bool all(bool p) const { return p; }
    HEAPWOOD_INLINE std::uint32_t match(std::uint32_t) const { return 1; }
    template <class T>
    HEAPWOOD_INLINE T shuffle(T v, unsigned) const {
        return v;
    }
    HEAPWOOD_INLINE unsigned rank(bool) const { return 0; }
    HEAPWOOD_INLINE unsigned count(bool p) const { return p ? 1U : 0U; }
    template <class T>
    HEAPWOOD_INLINE T sum(T v) const {
        return v;
    }
    template <class T>
    HEAPWOOD_INLINE T min(T v) const {
        return v;
    }
    template <class T>
    HEAPWOOD_INLINE T max(T v) const {
        return v;
    }
    template <class T>
    HEAPWOOD_INLINE T inclusive_sum(T v) const {
        return v;
    }
    template <class T, unsigned N>
    HEAPWOOD_INLINE void inclusive_sums(T (&)[N]) const {}
    HEAPWOOD_INLINE static void back_off(unsigned n) { platform::back_off(n); }
};

static_assert(Warp<SerialWarp>);

#if defined(__CUDACC__)

/// The warp of a GPU: 32 lanes of a one-dimensional block whose size is a multiple of 32.
///
/// The host versions of its members exist only so that shared templates compile; they are never
/// called.
struct DeviceWarp {
    static constexpr unsigned width = 32;

    HEAPWOOD_INLINE unsigned lane() const {
#if defined(__CUDA_ARCH__)
        return threadIdx.x & 31U;
#else
        return 0;
#endif
    }
    HEAPWOOD_INLINE void sync() const {
#if defined(__CUDA_ARCH__)
        converge();
        __syncwarp();
#endif
    }
    HEAPWOOD_INLINE std::uint32_t ballot(bool p) const {
#if defined(__CUDA_ARCH__)
        converge();
        return __ballot_sync(kAll, p);
#else
        return p;
#endif
    }
    HEAPWOOD_INLINE bool any(bool p) const {
        return ballot(p) != 0;
    }
    HEAPWOOD_INLINE bool all(bool p) const {
        return ballot(p) == kAll;
    }
    HEAPWOOD_INLINE std::uint32_t match(std::uint32_t v) const {
#if defined(__CUDA_ARCH__)
        converge();
        return __match_any_sync(kAll, v);
#else
        (void)v;
        return 1;
#endif
    }
    template <class T>
    HEAPWOOD_INLINE T shuffle(T v, unsigned source) const {
#if defined(__CUDA_ARCH__)
        converge();
        return __shfl_sync(kAll, v, static_cast<int>(source));
#else
        (void)source;
        return v;
#endif
    }
    HEAPWOOD_INLINE unsigned rank(bool p) const {
        return popcount(ballot(p) & ((1U << lane()) - 1U));
    }
    HEAPWOOD_INLINE unsigned count(bool p) const {
        return popcount(ballot(p));
    }
    template <class T>
    HEAPWOOD_INLINE T sum(T v) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        if constexpr (kHasRedux<T>) {
            converge();
            return __reduce_add_sync(kAll, v);
        }
#endif
        return reduce(v, [](T a, T b) { return a + b; });
    }
    template <class T>
    HEAPWOOD_INLINE T min(T v) const {
        if constexpr (std::is_same_v<T, float>) {
            return ordered_bits_float(min(float_ordered_bits(v)));
        } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
            if constexpr (kHasRedux<T>) {
                converge();
                return __reduce_min_sync(kAll, v);
            }
#endif
            return reduce(v, [](T a, T b) { return b < a ? b : a; });
        }
    }
    template <class T>
    HEAPWOOD_INLINE T max(T v) const {
        if constexpr (std::is_same_v<T, float>) {
            return ordered_bits_float(max(float_ordered_bits(v)));
        } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
            if constexpr (kHasRedux<T>) {
                converge();
                return __reduce_max_sync(kAll, v);
            }
#endif
            return reduce(v, [](T a, T b) { return a < b ? b : a; });
        }
    }
    template <class T>
    HEAPWOOD_INLINE T inclusive_sum(T v) const {
        T values[1] = {v};
        inclusive_sums(values);
        return values[0];
    }
    template <class T, unsigned N>
    HEAPWOOD_INLINE void inclusive_sums(T (&values)[N]) const {
#if defined(__CUDA_ARCH__)
        converge();
        HEAPWOOD_UNROLL_ALL
        for (unsigned d = 1; d < width; d *= 2) {
            T below[N];
            HEAPWOOD_UNROLL_ALL
            for (unsigned i = 0; i < N; ++i) below[i] = __shfl_up_sync(kAll, values[i], d);
            HEAPWOOD_UNROLL_ALL
            for (unsigned i = 0; i < N; ++i) values[i] += lane() >= d ? below[i] : T{0};
        }
#else
        (void)values;
#endif
    }
    HEAPWOOD_INLINE static void back_off(unsigned n) {
        platform::back_off(n);
    }

private:
    static constexpr std::uint32_t kAll = 0xffffffffU;

#if defined(__CUDA_ARCH__)
    /// Makes lanes that have gone separate ways execute as one again, before each collective, which
    /// alone does not: after a long branch of one lane (with a loop of atomics, or a call) the
    /// others may have gone on by themselves, and from one collective to the next the warp then
    /// executes everything twice. Builds with hybrid took 1.2 to 1.4 times as long on an H100, and
    /// the kernel was an eighth longer, for every collective had a detour for such warps.
    ///
    /// The instruction is one that PTX allows in converged warps only, so that the assembler has to
    /// bring the lanes together for it. It drops the instruction itself, whose result is not used.
    HEAPWOOD_INLINE static void converge() {
        asm("{ .reg .b32 unused; movmatrix.sync.aligned.m8n8.trans.b16 unused, %0; }" ::"r"(0));
    }
#endif

    /// Whether the hardware (from Ampere on) reduces a warp's T in one instruction.
    template <class T>
    static constexpr bool kHasRedux = std::is_integral_v<T> && sizeof(T) == 4;

    /// Butterfly reduction: the result is the same in every lane, for op commutes. (Comparisons
    /// of floats do not, where -0 meets +0: min and max compare their ordered bits.)
    template <class T, class Op>
    HEAPWOOD_INLINE T reduce(T v, Op op) const {
#if defined(__CUDA_ARCH__)
        converge();
        for (unsigned d = width / 2; d > 0; d /= 2) v = op(v, __shfl_xor_sync(kAll, v, d));
#else
        (void)op;
#endif
        return v;
    }
};

static_assert(Warp<DeviceWarp>);

#endif

}  // namespace heapwood::platform
