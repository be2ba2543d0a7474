/// @file
/// The page for a browser, which shows a document that it holds as JSON.
#pragma once

#include <string>
#include <string_view>

namespace heapwood::app {

/// The page without a document: HTML with style and scripts inside, and the word HEAPWOOD_RESULTS
/// where the JSON belongs. Made by CMake.
extern const char* const kPage;

/// The page of a document, which as_html writes as JSON.
std::string page_of(std::string_view json);

}  // namespace heapwood::app
