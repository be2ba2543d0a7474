/// @file
/// Calls of functions that are seldom called, from hot code.
#pragma once

#include <utility>

#include "allocators/platform/macros.cuh"

namespace heapwood::platform {

/// f(args...), so that the call takes as few registers as can be from the code around it. `f` is a
/// function that is not inlined (HEAPWOOD_NOINLINE). The thread's stack, 1 KiB if CUDA is not told
/// otherwise, must hold what the functions save: 728 bytes in the kernel with cambium.
///
/// Why: the assembler of a GPU that knows the function keeps registers free for it and for all that
/// it calls, even if the call is hardly ever made; the longer the chain of calls, the more values
/// of the hot code lie in memory. Of a pointer it knows nothing. Then the function saves what it
/// uses, in the moment that it is called. allocators/README.md has what that was worth for cambium.
template <class R, class... Parameters, class... Args>
HEAPWOOD_INLINE R call_rarely(R (*f)(Parameters...), Args&&... args) {
#if defined(__CUDA_ARCH__)
    asm("" : "+l"(f));
#endif
    return f(std::forward<Args>(args)...);
}

}  // namespace heapwood::platform
