/// @file
/// What a guarded heap has found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapwood::allocators {

/// A mistake of the program that uses a heap.
enum class HeapFault : std::uint32_t {
    written_before,  ///< bytes before a block were changed
    written_behind,  ///< bytes behind a block were changed
    written_freed,   ///< a block was written after it was freed
    freed_twice,     ///< a block was freed while it was free
    not_a_block,     ///< what was freed, or resized, is no block of this heap
};
inline constexpr std::uint32_t kHeapFaults = 5;

/// A mistake, or a block that was never freed.
struct HeapFinding {
    std::uint64_t address;  ///< of the block, or what was freed
    std::uint64_t bytes;    ///< asked for; 0 of freed_twice and not_a_block
    std::uint32_t tag;      ///< of who took the block; of these two, of who freed it
    HeapFault fault;        ///< of a mistake
};

/// All that was found since the heap was made or reset.
struct HeapReport {
    std::uint64_t counts[kHeapFaults] = {};  ///< of each HeapFault
    std::vector<HeapFinding> faults;         ///< the first of them, in no order
    std::vector<HeapFinding> leaks;          ///< blocks in use, by address; `fault` has no meaning
    /// Requests that were refused because the register was full, not the heap.
    std::uint64_t unregistered = 0;

    /// Whether the program made no mistake. Blocks in use are none.
    bool is_clean() const {
        for (const std::uint64_t count : counts) {
            if (count != 0) return false;
        }
        return true;
    }
};

/// A line for each fault and for each tag's leaks, for people; "" if there is nothing to tell.
std::string to_text(const HeapReport& report);

}  // namespace heapwood::allocators
