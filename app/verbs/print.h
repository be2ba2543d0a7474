/// @file
/// What becomes of a verb's report.
#pragma once

#include <unistd.h>

#include <exception>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/cli/cli.h"

namespace heapwood::app {

/// Does some writing. @return whether all is written; if not, that is told.
template <class Write>
bool written(const Write& write) {
    try {
        write();
        return true;
    } catch (const std::exception& error) {
        log::error(error.what());
        return false;
    }
}

/// Writes a report as a table to standard output, in the form asked for, unless that has the JSON;
/// and as JSON to `json`. Each is tried though the other fails. The printers of the report's type
/// (app/report) must be declared before. @return whether all is written.
template <class Report>
bool print(const Report& report, const OutputOptions& output, Output& json) {
    const bool printed = written([&] {
        if (output.json == "-") return;
        write_to_stdout(output.csv        ? as_csv(report)
                        : output.markdown ? as_markdown(report)
                                          : as_text(report, colour_allowed(STDOUT_FILENO)));
    });
    return written([&] {
               if (json) json.write(as_json(report));
           }) &&
           printed;
}

}  // namespace heapwood::app
