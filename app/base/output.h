/// @file
/// A file for results that is known to be writable before the work that fills it begins.
#pragma once

#include <string>
#include <string_view>

namespace heapwood::app {

/// The target of `--json FILE`; "-" is standard output. What was in the file stays until `write`;
/// a file that was not there before is taken away again if `write` is never called.
class Output {
public:
    /// @throws UsageError if the file cannot be opened for writing.
    explicit Output(std::string path);
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output();

    /// Replaces the contents, those of a file all at once: if they do not arrive in full, it is as
    /// it was. @throws std::runtime_error if they do not.
    void write(std::string_view text);

private:
    std::string path_;
    bool created_ = false;
};

/// Writes to standard output. @throws std::runtime_error if the text does not arrive in full.
void write_to_stdout(std::string_view text);

}  // namespace heapwood::app
