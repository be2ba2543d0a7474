/// @file
/// The results of `list`: plain data, and as a document.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "app/backends/registers.h"
#include "app/base/machine.h"
#include "app/report/document.h"
#include "scenes/generators.h"

namespace heapwood::app {

/// An allocator of this program.
struct ListedAllocator {
    allocators::Traits traits;
    std::vector<std::string> machines;  ///< "cpu", "gpu": those that it is compiled for
    std::span<const allocators::Option> options;
    std::optional<Registers> registers;
};

/// All that a user can choose from.
struct Listing {
    std::vector<ListedAllocator> allocators;
    std::vector<allocators::Option> options;  ///< of all allocators, each once
    std::span<const scenes::GeneratorInfo> generators;
    std::vector<Machine> machines;
    std::string no_gpu;  ///< why there is no GPU; empty if there is one
};

/// Tables of all; CSV has the allocators.
Document document_of(const Listing& listing);

}  // namespace heapwood::app
