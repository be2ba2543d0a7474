/// @file
/// Slow paths out of line: calls whose target a GPU's compiler does not know.
#pragma once

#include <utility>

#include "allocators/platform/macros.cuh"

namespace heapwood::platform {

/// Returns f(args...), and costs the calling code as few registers as possible. `f` is a function
/// that is not inlined (HEAPWOOD_NOINLINE). The thread's stack, 1 KiB by default, must hold what
/// the functions save: 728 bytes in the kernel with cambium.
///
/// The assembler keeps registers free for a function that it knows and for all functions below it,
/// even if the call is rare; the longer the chain of calls, the more values of the hot code lie in
/// memory. Of a pointer it knows nothing. The function then saves the registers that it uses when
/// it is called. The call follows the general rules and needs a stack, so it is worth measuring:
/// allocators/README.md has the figures for cambium.
template <class R, class... Parameters, class... Args>
HEAPWOOD_INLINE R opaque_call(R (*f)(Parameters...), Args&&... args) {
#if defined(__CUDA_ARCH__)
    asm("" : "+l"(f));
#endif
    return f(std::forward<Args>(args)...);
}

}  // namespace heapwood::platform
