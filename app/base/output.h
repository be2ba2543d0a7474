/// @file
/// Files for results that are known to be writable before the work that fills them begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heapwood::app {

/// The target of `--json FILE` and the like; "-" is standard output, and an empty path nothing.
/// What is in the file stays until `write`, and a file that is not there appears with `write`:
/// whenever the program is killed, under that name there is a whole file or none.
class Output {
public:
    /// @throws UsageError if the file cannot be opened for writing, or cannot be replaced, or is a
    /// named pipe that no process reads.
    explicit Output(std::string path);
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output();

    /// Whether there is something to write to.
    explicit operator bool() const { return !path_.empty(); }

    /// Replaces the contents, those of a file all at once: if they do not arrive in full, it is as
    /// it was, unless its folder takes no new files. @throws std::runtime_error if they do not,
    /// with the system's reason.
    void write(std::string_view text);

private:
    std::string path_;
    int pipe_ = -1;  ///< a named pipe, whose reader would take a second opening for the end
};

/// To be called first in the program. A reader of standard output that goes away, and a file that
/// grows beyond the limit of the process (ulimit -f), become errors of what writes, not the end of
/// the program, which has other files to save. A standard stream
/// that is closed stays unusable: no file gets its descriptor, and so no text that is not its own.
void guard_standard_streams();

/// Writes to standard output. @throws std::runtime_error if the text does not arrive in full.
void write_to_stdout(std::string_view text);

/// A file of a verb, with the words that name it on the command line.
struct NamedFile {
    std::string name;
    std::string path;  ///< empty or "-": none
};

/// @throws UsageError if an output, standard output among them, is the same file as an input, or
/// two outputs are: results would overwrite what is read, or each other.
void check_files(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

}  // namespace heapwood::app
