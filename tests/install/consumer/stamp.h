/// @file
/// What both programs do with memory: every thread keeps a few blocks stamped with its number.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heapwood/allocators/circular.cuh>

inline constexpr std::uint64_t kPoolBytes = 64 << 20;
inline constexpr int kRounds = 8, kBlocks = 4;

/// Allocates, stamps, checks and frees. @return how many requests or stamps went wrong.
template <class Ref>
HEAPWOOD_FN unsigned stamp_blocks(const Ref& allocator,
                                  const heapwood::allocators::Context& context, unsigned thread) {
    unsigned wrong = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::uint32_t* blocks[kBlocks];
        std::size_t words[kBlocks];
        for (int b = 0; b < kBlocks; ++b) {
            words[b] = 1 + (thread * 7 + round * 3 + b) % 40;
            blocks[b] = static_cast<std::uint32_t*>(allocator.allocate(context, words[b] * 4));
            if (blocks[b] == nullptr) ++wrong;
            for (std::size_t i = 0; blocks[b] != nullptr && i < words[b]; ++i) {
                blocks[b][i] = thread * kBlocks + b;
            }
        }
        for (int b = 0; b < kBlocks; ++b) {
            for (std::size_t i = 0; blocks[b] != nullptr && i < words[b]; ++i) {
                if (blocks[b][i] != thread * kBlocks + b) ++wrong;
            }
            allocator.deallocate(context, blocks[b], words[b] * 4);
        }
    }
    return wrong;
}

/// The bytes that the pool's walk reports as allocated.
template <class Allocator>
std::uint64_t allocated_bytes(const Allocator& allocator) {
    std::uint64_t bytes = 0;
    allocator.for_each_region([&](const heapwood::allocators::Region& region) {
        if (region.allocated) bytes += region.size;
    });
    return bytes;
}
