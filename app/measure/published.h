/// @file
/// The tables of scripts/published, compiled in: the program may be carried about without them.
#pragma once

#include <vector>

namespace heapwood::app {

/// The files' texts. In each, sections of a line "## DEVICE FILE STATISTIC", one of headings
/// ("name", then sizes, ranges or numbers of threads) and a line for each allocator, all fields
/// separated by tabs.
const std::vector<const char*>& published_tables();

}  // namespace heapwood::app
