/// @file
/// What becomes of a verb's document.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/base/output.h"
#include "app/cli/cli.h"
#include "app/report/figures/document.h"
#include "app/verbs/files.h"

namespace heapwood::app {

/// Where a verb's document goes; its files are known to be writable before the work begins.
class Publisher {
public:
    /// @param options of the verb
    /// @throws UsageError if a file cannot be opened for writing, or is an input or another output,
    /// too (check_files()).
    template <class Options>
    explicit Publisher(const Options& options) : Publisher(options.output, files_of(options)) {}

    /// The first file, for what is kept beside it; empty if there is none.
    std::string file() const;

    /// Writes another file of the verb. A failure is told, and keeps nothing else from being
    /// written.
    void save(Output& file, std::string_view text);

    /// Prints and saves; each format is tried though another fails, and failures are told.
    /// @return whether all is written, the other files included.
    bool publish(const Document& document);

private:
    Publisher(const OutputOptions& output, const RunFiles& files);

    void attempt(const std::function<void()>& write);

    OutputOptions output_;
    bool fine_ = true;
    std::optional<Output> json_;
    std::optional<Output> html_;
};

}  // namespace heapwood::app
