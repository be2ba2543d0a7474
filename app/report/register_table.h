/// @file
/// Registers of an allocator's kernels, as `list` and the report of a build show them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "app/backends/registers.h"
#include "app/report/table.h"

namespace heapwood::app {

/// The table, still without rows.
Table registers_table();

/// An allocator's row in it; `label` is its name, with whatever mark.
std::vector<std::string> registers_row(const std::string& label, const allocators::Traits& traits,
                                       const std::optional<Registers>& registers);

/// {"registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes"}, or null if unknown.
nlohmann::ordered_json kernel_json(const std::optional<KernelFigures>& kernel);

/// {"uncoalesced", "coalesced"}, either of them null if unknown.
nlohmann::ordered_json published_registers_json(const allocators::Traits& traits);

}  // namespace heapwood::app
