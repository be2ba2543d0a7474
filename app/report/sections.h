/// @file
/// What a person reads of a report: the tables that the terminal and Markdown show.
#pragma once

#include <string>
#include <vector>

#include "app/report/report.h"
#include "app/report/table.h"

namespace heapwood::app {

/// What the asterisk behind an allocator's name means.
inline constexpr const char* kAsteriskRemark =
    "* no full allocator: memory returns with the whole pool, or in ring order, only.";

/// The allocator's name, with the papers' asterisk where memory does not return block by block.
std::string starred(const Result& result);

/// Scene and machine, the tree, times, and allocations.
std::vector<Table> sections(const Report& report);

/// Sentences below the tables: failures, and what a mark in the tables means.
std::vector<std::string> remarks(const Report& report);

}  // namespace heapwood::app
