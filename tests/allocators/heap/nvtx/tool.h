/// @file
/// What the tool of these tests has been told by NVTX. The library that NVTX loads, and the test,
/// share this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace heapwood::tests {

struct ToldByNvtx {
    std::string name;
    std::uint64_t begin = 0;  ///< of the heap; 0: no heap is registered
    std::uint64_t end = 0;
    std::map<std::uint64_t, std::size_t> blocks;  ///< bytes by addresses
    unsigned calls = 0;

    /// Whether a kernel may read and write this byte, as a tool sees it.
    bool allows(std::uint64_t address) const {
        if (address < begin || address >= end) return true;
        auto block = blocks.upper_bound(address);
        if (block == blocks.begin()) return false;
        --block;
        return address - block->first < block->second;
    }
};

}  // namespace heapwood::tests
