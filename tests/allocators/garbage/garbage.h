/// @file
/// Memory of which nobody has written a byte, as a GPU's is and a fresh process's seldom is: in an
/// executable that links heapwood_garbage or heapwood_garbage_gpu every Buffer begins with kGarbage
/// in each byte. So an allocator that takes a word for 0 before it has written it fails its tests.
#pragma once

namespace heapwood::tests {

/// Neither 0 nor -1, for words are often set to one of these.
inline constexpr int kGarbage = 0xab;

}  // namespace heapwood::tests
