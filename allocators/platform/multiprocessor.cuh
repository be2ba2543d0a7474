/// @file
/// Where a thread of a GPU runs. Included by .cu files only.
#pragma once

#include <cstdint>

namespace heapwood::platform {

/// The multiprocessor this thread runs on, below `count`. (PTX allows numbers above the number of
/// multiprocessors.)
__device__ inline std::uint32_t multiprocessor(std::uint32_t count) {
    std::uint32_t id;
    asm("mov.u32 %0, %%smid;" : "=r"(id));
    return id % count;
}

}  // namespace heapwood::platform
