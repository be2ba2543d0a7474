/// @file
/// Registers of an allocator's kernels, as tables show them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "app/backends/registers.h"
#include "app/report/document.h"

namespace heapwood::app {

/// The table, still without rows.
Table registers_table();

/// An allocator's row in it; `label` is its name with its mark.
std::vector<Cell> registers_row(const std::string& label, const allocators::Traits& traits,
                                const std::optional<Registers>& registers);

}  // namespace heapwood::app
