/// @file
/// JSON as lines that this program itself reads: what processes of one run tell each other, and
/// journals.
#pragma once

#include <string>
#include <string_view>

#include "app/base/json.h"

namespace heapwood::app {

/// The JSON on one line. Its strings may have any bytes, as names of files have, which JSON proper
/// may not: those that are more than ASCII are written in a form that from_json_line() undoes.
std::string json_line(const Json& json);

/// What json_line() has written; discarded if it is no JSON, see parsed_json().
Json from_json_line(std::string_view line);

}  // namespace heapwood::app
