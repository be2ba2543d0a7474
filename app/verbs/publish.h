/// @file
/// What becomes of a verb's document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/base/output.h"
#include "app/cli/cli.h"
#include "app/report/document.h"

namespace heapwood::app {

/// Where a verb's document goes; its files are known to be writable before the work begins.
class Publisher {
public:
    /// @param others the verb's other files, written to as well
    /// @throws UsageError if a file cannot be opened for writing, or is an input or another output,
    /// too (check_files()).
    explicit Publisher(const OutputOptions& output, const std::vector<NamedFile>& inputs = {},
                       std::vector<NamedFile> others = {});

    /// The first file, for what is kept beside it; empty if there is none.
    std::string file() const;

    /// Prints and saves; each format is tried though another fails, and failures are told.
    /// @return whether all is written.
    bool publish(const Document& document);

private:
    OutputOptions output_;
    std::optional<Output> json_;
    std::optional<Output> html_;
};

}  // namespace heapwood::app
