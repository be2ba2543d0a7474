/// @file
/// What becomes of a verb's report.
#pragma once

#include <unistd.h>

#include "app/base/console.h"
#include "app/base/output.h"
#include "app/cli/cli.h"

namespace heapwood::app {

/// Writes a report as JSON to `json`, if there is one, and unless that was standard output as a
/// table to standard output, in the form asked for. The printers of the report's type
/// (app/printers) must be declared before.
template <class Report>
void print(const Report& report, const OutputOptions& output, Output* json) {
    if (json != nullptr) json->write(as_json(report));
    if (output.json == "-") return;
    if (output.csv) {
        write_to_stdout(as_csv(report));
    } else if (output.markdown) {
        write_to_stdout(as_markdown(report));
    } else {
        write_to_stdout(as_text(report, colour_allowed(STDOUT_FILENO)));
    }
}

}  // namespace heapwood::app
