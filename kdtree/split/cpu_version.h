/// @file
/// Functions of which a program has several versions, for CPUs with and without certain vector
/// instructions: one source, chosen from when the program runs.
#pragma once

#include <cstdint>

namespace heapwood::kdtree {

/// The instructions that a version may use beside those that the compiler's options allow, each
/// also those of the version before. AVX-512 can fuse a multiplication with an addition, which
/// Heapwood is compiled without (-ffp-contract=off): all versions compute the same bits.
enum class CpuVersion : std::uint8_t { plain, avx2, avx512 };

#if defined(__x86_64__)
#define HEAPWOOD_HAS_AVX2_VERSIONS
// clang makes none: it cannot be told here to use vectors of 256 bits. Those of 512 are slower, for
// a node has few candidates.
#if !defined(__clang__)
#define HEAPWOOD_HAS_AVX512_VERSIONS
#endif
#endif

/// The fastest version that this CPU can run.
inline CpuVersion fastest_cpu_version() {
#if defined(HEAPWOOD_HAS_AVX512_VERSIONS)
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq")) {
        return CpuVersion::avx512;
    }
#endif
#if defined(HEAPWOOD_HAS_AVX2_VERSIONS)
    if (__builtin_cpu_supports("avx2")) return CpuVersion::avx2;
#endif
    return CpuVersion::plain;
}

namespace detail {

/// Everything that f calls is inlined, for only what is inlined has the version's instructions.
template <class F>
[[gnu::flatten]] auto run_plainly(const F& f) {
    return f();
}
#if defined(HEAPWOOD_HAS_AVX2_VERSIONS)
template <class F>
[[gnu::target("avx2"), gnu::flatten]] auto run_with_avx2(const F& f) {
    return f();
}
#endif
#if defined(HEAPWOOD_HAS_AVX512_VERSIONS)
template <class F>
[[gnu::target("avx512vl,avx512bw,avx512dq,prefer-vector-width=256"), gnu::flatten]] auto
run_with_avx512(const F& f) {
    return f();
}
#endif

}  // namespace detail

/// f(), in a version that this CPU can run: the one asked for, or the next one that the compiler
/// makes.
template <class F>
auto run_version(CpuVersion version, const F& f) {
#if defined(HEAPWOOD_HAS_AVX512_VERSIONS)
    if (version == CpuVersion::avx512) return detail::run_with_avx512(f);
#endif
#if defined(HEAPWOOD_HAS_AVX2_VERSIONS)
    if (version >= CpuVersion::avx2) return detail::run_with_avx2(f);
#endif
    (void)version;
    return detail::run_plainly(f);
}

}  // namespace heapwood::kdtree
