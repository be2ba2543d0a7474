/// @file
/// What becomes of a verb's document.
#pragma once

#include "app/base/output.h"
#include "app/cli/cli.h"
#include "app/report/document.h"

namespace heapwood::app {

/// The file beside which turns are noted until all results are there: the JSON's, else the page's,
/// else none.
std::string results_file(const OutputOptions& output);

/// Where a verb's document goes; its files are known to be writable before the work begins.
class Publisher {
public:
    /// @throws UsageError if a file cannot be opened for writing.
    explicit Publisher(const OutputOptions& output);

    /// Prints and saves; each format is tried though another fails, and failures are told.
    /// @return whether all is written.
    bool publish(const Document& document);

private:
    OutputOptions output_;
    Output json_;
    Output html_;
};

}  // namespace heapwood::app
