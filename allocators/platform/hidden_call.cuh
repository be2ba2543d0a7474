/// @file
/// Calls that leave the caller's registers out of it.
#pragma once

#include "allocators/platform/macros.cuh"

namespace heapwood::platform {

/// Calls a function of a rare path without telling a GPU's compiler which one it is. The compiler
/// divides the registers of a kernel among all the functions that it sees it call, and where a path
/// is deep the kernel has to keep in memory what it could have kept in registers, even if it never
/// goes there. The price is a call by the general rules: both sides save registers, and the path
/// needs a stack. So it is worth measuring.
template <auto kFunction, class... Args>
HEAPWOOD_INLINE auto call_hidden(Args... args) {
#if defined(__CUDA_ARCH__)
    auto* function = kFunction;
    asm volatile("" : "+l"(function));
    return function(args...);
#else
    return kFunction(args...);
#endif
}

}  // namespace heapwood::platform
