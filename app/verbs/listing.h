/// @file
/// The results of `list`: plain data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "app/backends/registers.h"
#include "app/base/machine.h"
#include "scenes/generators.h"

namespace heapwood::app {

/// An allocator of this program.
struct ListedAllocator {
    allocators::Traits traits;
    std::vector<std::string> machines;  ///< "cpu", "gpu": those that it is compiled for
    std::span<const allocators::Option> options;
    std::optional<Registers> registers;
    std::optional<bool> sound;  ///< nothing: untested
    bool remade;                ///< whether it has no reset()
};

/// All that a user can choose from.
struct Listing {
    std::vector<ListedAllocator> allocators;
    std::vector<allocators::Option> options;  ///< of all allocators, each once
    std::span<const scenes::GeneratorInfo> generators;
    std::vector<Machine> machines;
    std::string no_gpu;  ///< why there is no GPU; empty if there is one
};

}  // namespace heapwood::app
