/// @file
/// Functions of which a program has several versions, for CPUs with and without certain vector
/// instructions: one source, chosen from when the program runs.
#pragma once

#include <cstdint>

namespace heapwood::kdtree {

/// The instructions that a version may use beside those that the compiler's options allow. None of
/// them fuses a multiplication with an addition: all versions compute the same bits.
enum class CpuVersion : std::uint8_t { plain, avx2 };

#if defined(__x86_64__)
#define HEAPWOOD_HAS_AVX2_VERSIONS
#endif

/// The fastest version that this CPU can run.
inline CpuVersion fastest_cpu_version() {
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

}  // namespace detail

/// f(), in a version that this CPU can run.
template <class F>
auto run_version(CpuVersion version, const F& f) {
#if defined(HEAPWOOD_HAS_AVX2_VERSIONS)
    if (version == CpuVersion::avx2) return detail::run_with_avx2(f);
#endif
    (void)version;
    return detail::run_plainly(f);
}

}  // namespace heapwood::kdtree
