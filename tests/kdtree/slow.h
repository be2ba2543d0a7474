/// @file
/// Whether a sanitizer slows the tests down.
#pragma once

namespace heapwood::kdtree::tests {

/// Whether each step takes several times as long as usual.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = false;
#endif

}  // namespace heapwood::kdtree::tests
