/// @file
/// A file that grows by a line for every turn that is done. A program that ends early loses no such
/// turn, and another run goes on from the file.
#pragma once

#include <string>
#include <vector>

#include "app/base/json.h"

namespace heapwood::app {

/// The keys with which two headers say that they are of different runs.
std::vector<std::string> differences(const Json& header, const Json& other);

/// JSON lines: a header, which says what the journal is of, then the entries. Locked against a
/// second program.
class Journal {
public:
    /// Opens the file, or makes it. Of one that has entries, all keys of the header but "date" and
    /// those below "adopted" must be as in `header`; a last line that is not whole is cut off.
    /// @throws UsageError if that is not so, or the file cannot be written, keeps nothing, or is in
    /// use.
    Journal(std::string path, const Json& header);
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;
    /// Takes a file away again that was not there before and has no entries.
    ~Journal();

    /// Whether another program has the file open as a journal.
    static bool is_in_use(const std::string& path);

    const std::string& path() const { return path_; }
    /// Whether the file was not there before.
    bool is_new() const { return created_; }
    /// The header: that of the file, if it had one.
    const Json& header() const { return header_; }
    /// The entries in the file when it was opened.
    const std::vector<Json>& entries() const { return entries_; }

    /// Adds an entry. After the first that cannot be written in full, no more are written.
    /// @return whether it is in the file.
    bool append(const Json& entry);

    /// The error number of the system that says why append() failed; 0: it has not.
    int error() const { return error_; }

    /// Deletes the file.
    void remove();

private:
    void read();
    void compare(const Json& header) const;

    std::string path_;
    int descriptor_ = -1;
    bool created_ = false;
    int error_ = 0;
    bool headed_ = false;  ///< the header is in the file
    Json header_;
    std::vector<Json> entries_;
};

}  // namespace heapwood::app
