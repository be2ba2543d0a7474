/// @file
/// Files that take the place of others all at once.
#pragma once

#include <filesystem>
#include <string>

namespace heapwood::platform {

/// The file that a path leads to through symbolic links, which need not exist.
std::filesystem::path link_target(std::filesystem::path path);

/// A file without a name in the folder of the one whose place it is to take, so that a process that
/// is killed leaves nothing behind. Where the file system has no such files it has a name,
/// heapwood-XXXXXXXX.new, and a lock: the next NewFile in the folder removes it if the process that
/// made it has ended. Not for several threads at once.
class NewFile {
public:
    /// When a file gets a name.
    enum class Named { late, early };

    /// @param path whose place it takes; links are followed.
    /// @param named early: from the beginning, as where the file system has no files without a name
    explicit NewFile(const std::filesystem::path& path, Named named = Named::late);
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    /// Removes the file unless it has taken the place.
    ~NewFile();

    /// The error number of the system that says why there is no file; 0: there is one.
    int error() const { return error_; }
    /// For reading and writing; belongs to this object.
    int descriptor() const { return file_; }

    /// Takes the place, with the mode of the file that is there, and with its owner and group where
    /// the system permits it. @return whether it did; else errno says why, and the former file is
    /// as it was.
    bool replace();

private:
    bool open_unnamed();
    void open_named();
    bool is_kept();
    bool give_name();

    std::filesystem::path target_;
    std::string name_;  ///< empty: it has none
    int file_ = -1;
    int error_ = 0;
};

/// Why the system would let no NewFile take the place of what is at `path`, with a remedy; empty:
/// it would, as far as is known before.
std::string obstacle(const std::filesystem::path& path);

/// Whether another process holds the lock of a file or folder, which ends with that process.
/// @return false as well where it does not exist.
bool is_locked(const std::filesystem::path& path);

}  // namespace heapwood::platform
