#include "app/distributed/parts_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "allocators/platform/new_file.h"

namespace heapwood::app {
namespace {

/// The folder in it that has the files, and by which it is known. It is made once there is a lock.
constexpr const char* kFiles = "heapwood-parts";

/// Removes the folders that killed processes have left.
/// @param begin of their paths
void remove_leftovers(const std::filesystem::path& begin) {
    const std::string name = begin.filename().string();
    std::error_code error;
    for (std::filesystem::directory_iterator entry(begin.parent_path(), error), end;
         !error && entry != end; entry.increment(error)) {
        std::error_code ignored;
        if (entry->path().filename().string().starts_with(name) &&
            std::filesystem::exists(entry->path() / kFiles, ignored) &&
            !platform::is_locked(entry->path())) {
            std::filesystem::remove_all(entry->path(), ignored);
        }
    }
}

}  // namespace

PartsFolder::PartsFolder(const std::filesystem::path& file) {
    const std::string begin = std::filesystem::absolute(file).string() + ".parts.";
    remove_leftovers(begin);
    std::string name = begin + "XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error(name + ": cannot be made: " + std::strerror(errno));
    }
    lock_ = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    static_cast<void>(flock(lock_, LOCK_EX));
    path_ = std::filesystem::path(name) / kFiles;
    std::filesystem::create_directory(path_);
}

PartsFolder::~PartsFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_.parent_path(), ignored);
    close(lock_);
}

}  // namespace heapwood::app
