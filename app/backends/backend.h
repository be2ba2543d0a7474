/// @file
/// One allocator on one machine, behind plain functions: what the command line chooses among.
#pragma once

#include <string_view>
#include <vector>

#include "allocators/allocator.cuh"
#include "kdtree/builder.h"

namespace heapwood::app {

/// A builder compiled for one allocator and one machine.
struct Backend {
    allocators::Traits traits;
    bool gpu;
    kdtree::BuildResult (*build)(const scenes::Scene&, const kdtree::BuildConfig&,
                                 const kdtree::RunOptions&);
};

/// Every backend of this program, in the order of HEAPWOOD_ALLOCATORS; the CPU's first. Generated
/// by CMake together with the translation units that hold the builders.
const std::vector<const Backend*>& backends();

/// The backend of that name on that machine, or nullptr.
const Backend* find_backend(std::string_view name, bool gpu);

}  // namespace heapwood::app
