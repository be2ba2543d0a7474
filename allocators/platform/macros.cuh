/// @file
/// The few macros that let one source be compiled for a GPU (nvcc) and for a CPU (any C++20
/// compiler).
#pragma once

#if defined(__CUDACC__)
/// Marks a function that runs on either machine.
#define HEAPWOOD_FN __host__ __device__
/// As HEAPWOOD_FN, and always inlined: for the hot one-liners of warps and atomics.
#define HEAPWOOD_INLINE __host__ __device__ __forceinline__
/// Keeps a rarely taken path out of line, so that it costs the hot path no registers.
#define HEAPWOOD_NOINLINE __host__ __device__ __noinline__
/// Before a template with HEAPWOOD_FN that, for warps of width 1 only, calls functions of the host.
#define HEAPWOOD_MAY_CALL_HOST _Pragma("nv_exec_check_disable")
#else
#define HEAPWOOD_FN
#define HEAPWOOD_INLINE inline
#define HEAPWOOD_NOINLINE
#define HEAPWOOD_MAY_CALL_HOST
#endif

#if defined(__CUDA_ARCH__)
/// Before a loop: unroll it n times, or wholly, where a GPU's code is compiled.
#define HEAPWOOD_UNROLL(n) HEAPWOOD_PRAGMA(unroll n)
#define HEAPWOOD_UNROLL_ALL HEAPWOOD_PRAGMA(unroll)
#define HEAPWOOD_PRAGMA(text) _Pragma(#text)
#else
#define HEAPWOOD_UNROLL(n)
#define HEAPWOOD_UNROLL_ALL
#endif
