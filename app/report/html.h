/// @file
/// Results as a page for a browser: tables that can be sorted, plots, and the provenance.
#pragma once

#include <string>
#include <string_view>

namespace heapwood::app {

/// The page without results: HTML with style and scripts inside, and the word HEAPWOOD_RESULTS
/// where the JSON belongs.
extern const char* const kPage;

/// One page that needs nothing but a browser: no network, no other file.
/// @param json what `compare --json` writes.
std::string as_html(std::string_view json);

}  // namespace heapwood::app
