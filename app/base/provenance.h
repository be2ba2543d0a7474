/// @file
/// Where the figures of a run come from, beside its program.
#pragma once

#include <string>
#include <vector>

#include "app/base/machine.h"
#include "app/base/text.h"

namespace heapwood::app {

struct Provenance {
    std::vector<std::string> arguments;
    std::string date;  ///< UTC, ISO 8601
    Machine machine;
};

/// That of a run that begins now.
inline Provenance provenance_of(const std::vector<std::string>& arguments, const Machine& machine) {
    return {arguments, now(), machine};
}

}  // namespace heapwood::app
