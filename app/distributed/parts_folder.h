/// @file
/// The folder of a build in parts by several processes.
#pragma once

#include <filesystem>

namespace heapwood::app {

/// A folder in one beside a file, FILE.parts.XXXXXX, which is removed with all that is in it. That
/// one is locked as long as the process that made it lives: the next PartsFolder of the same file
/// removes what a killed process has left.
class PartsFolder {
public:
    /// @throws std::runtime_error if it cannot be made.
    explicit PartsFolder(const std::filesystem::path& file);
    PartsFolder(const PartsFolder&) = delete;
    PartsFolder& operator=(const PartsFolder&) = delete;
    ~PartsFolder();

    /// Empty at first; from the root of the file system.
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    int lock_ = -1;
};

}  // namespace heapwood::app
