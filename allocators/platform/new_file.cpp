#include "allocators/platform/new_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <random>
#include <set>
#include <string_view>
#include <system_error>

namespace heapwood::platform {
namespace {

constexpr std::string_view kBegin = "heapwood-";
constexpr std::string_view kEnd = ".new";

/// The folder of a file.
std::filesystem::path folder_of(const std::filesystem::path& file) {
    return file.has_parent_path() ? file.parent_path() : ".";
}

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kLength = 8;

/// A name in a folder that hardly any file has. It does not have the name of the file that it is to
/// replace in it, to which the system would permit no longer one.
std::string random_name(const std::filesystem::path& folder) {
    std::random_device dice;
    std::string digits;
    for (std::size_t i = 0; i < kLength; ++i) digits += kDigits[dice() % kDigits.size()];
    return folder / std::string(kBegin).append(digits).append(kEnd);
}

/// Whether random_name() gives such names.
bool is_random_name(std::string_view name) {
    return name.size() == kBegin.size() + kLength + kEnd.size() && name.starts_with(kBegin) &&
           name.ends_with(kEnd) &&
           name.substr(kBegin.size(), kLength).find_first_not_of(kDigits) == name.npos;
}

/// Opens what may be locked, and locks it, shared: a lock that NFS grants to readers, too.
/// @return the descriptor, or -1 with errno: EWOULDBLOCK if a process has locked it.
int open_unlocked(const std::filesystem::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || flock(file, LOCK_SH | LOCK_NB) == 0) return file;
    close(file);
    errno = EWOULDBLOCK;
    return -1;
}

/// Removes a file of this user's that no process has locked. It stays locked until it is gone, so
/// that a process that makes such a file at this moment sees that the file has no name (is_kept()).
void remove_unlocked(const std::filesystem::path& path) {
    const int file = open_unlocked(path);
    if (file < 0) return;
    struct stat about {};
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid()) {
        unlink(path.c_str());
    }
    close(file);
}

/// Removes what random_name() names in a folder, if the process that made it has ended. Once for
/// each folder: to read one takes as long as it has files.
void remove_leftovers(const std::filesystem::path& folder) {
    static std::mutex mutex;
    static std::set<std::filesystem::path> seen;
    std::error_code error;
    {
        const std::lock_guard lock(mutex);
        if (!seen.insert(std::filesystem::absolute(folder, error)).second) return;
    }
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (is_random_name(entry->path().filename().string())) remove_unlocked(entry->path());
    }
}

/// Gives a file the mode of another, and its owner and group where the system permits it. Where it
/// does not permit the group, members of this one get no rights.
bool take_over_rights(int file, const struct stat& former) {
    struct stat own {};
    if (fstat(file, &own) != 0) return false;
    mode_t mode = former.st_mode & 07777U;
    if (own.st_gid != former.st_gid && fchown(file, static_cast<uid_t>(-1), former.st_gid) != 0) {
        mode &= ~static_cast<mode_t>(S_IRWXG | S_ISGID);
    }
    if (own.st_uid != former.st_uid && fchown(file, former.st_uid, static_cast<gid_t>(-1)) != 0) {
        mode &= ~static_cast<mode_t>(S_ISUID);
    }
    return fchmod(file, mode) == 0;
}

/// What the system says of a file, no link, that replacing it depends on.
struct Attributes {
    bool is_mount = false;  ///< a file system is mounted on it
    bool is_fixed = false;  ///< it is immutable, or can only be added to
};

Attributes attributes_of(const std::filesystem::path& path) {
    Attributes found;
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx facts {};
    if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &facts) == 0) {
        found.is_mount = (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
        found.is_fixed = (facts.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
    }
#endif
    return found;
}

}  // namespace

std::filesystem::path link_target(std::filesystem::path path) {
    std::error_code error;
    for (int links = 0; links < 40 && std::filesystem::is_symlink(path, error); ++links) {
        path = path.parent_path() / std::filesystem::read_symlink(path, error);
    }
    return path;
}

std::string obstacle(const std::filesystem::path& path) {
    const std::filesystem::path target = link_target(path);
    const std::filesystem::path folder = folder_of(target);
    struct stat around {};
    struct stat former {};
    if (stat(folder.c_str(), &around) != 0) return "";  // an error of NewFile
    if (attributes_of(folder).is_fixed) {
        return "its folder lets no file be replaced: take its attribute away (chattr -a), or name "
               "another file, in another folder";
    }
    if (lstat(target.c_str(), &former) != 0) return "";
    const Attributes own = attributes_of(target);
    if (own.is_mount) {
        return "it is mounted by itself, and no file can take its place: mount its folder, or name "
               "another file";
    }
    if (own.is_fixed) {
        return "it cannot be replaced: take its attribute away (chattr -a -i), or name another "
               "file";
    }
    const uid_t user = geteuid();
    const bool is_sticky = (around.st_mode & S_ISVTX) != 0;
    if (is_sticky && user != 0 && user != former.st_uid && user != around.st_uid) {
        return "it belongs to another user, whom alone its folder lets replace it: name another "
               "file";
    }
    return "";
}

bool is_locked(const std::filesystem::path& path) {
    const int file = open_unlocked(path);
    if (file < 0) return errno != ENOENT;
    close(file);
    return false;
}

NewFile::NewFile(const std::filesystem::path& path, Named named) : target_(link_target(path)) {
    std::error_code ignored;
    if (std::filesystem::is_symlink(target_, ignored)) {  // a loop
        error_ = ELOOP;
        return;
    }
    remove_leftovers(folder_of(target_));
    if (named == Named::early || !open_unnamed()) open_named();
    if (file_ < 0) error_ = errno;
}

NewFile::~NewFile() {
    if (file_ < 0) return;
    if (!name_.empty()) unlink(name_.c_str());
    close(file_);
}

bool NewFile::open_unnamed() {
#ifdef O_TMPFILE
    // The name that it gets in the end goes through /proc.
    if (access("/proc/self/fd", X_OK) != 0) return false;
    file_ = open(folder_of(target_).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
#endif
    return file_ >= 0;
}

void NewFile::open_named() {
    // Others must not read meanwhile what they could not read of the former file.
    const mode_t mode = access(target_.c_str(), F_OK) == 0 ? 0600 : 0666;
    do {
        name_ = random_name(folder_of(target_));
        file_ = open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    } while ((file_ < 0 && errno == EEXIST) || (file_ >= 0 && !is_kept()));
}

/// Locks a file that has a name. @return false, and closes it, if a process that removes leftovers
/// was faster.
bool NewFile::is_kept() {
    struct stat about {};
    static_cast<void>(flock(file_, LOCK_EX));
    if (fstat(file_, &about) == 0 && about.st_nlink != 0) return true;
    close(file_);
    return false;
}

/// Gives a file without a name one that no file has.
bool NewFile::give_name() {
    static_cast<void>(flock(file_, LOCK_EX));
    const std::string own = "/proc/self/fd/" + std::to_string(file_);
    do {
        name_ = random_name(folder_of(target_));
        if (linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
            return true;
        }
    } while (errno == EEXIST);
    name_.clear();
    return false;
}

bool NewFile::replace() {
    struct stat former {};
    const bool replaces = stat(target_.c_str(), &former) == 0;
    if (replaces && !take_over_rights(file_, former)) return false;
    if (name_.empty() && !give_name()) return false;
    // A full quota or a full disk elsewhere is told when a descriptor is closed: before the former
    // file is gone.
    const int copy = dup(file_);
    if (copy < 0 || close(copy) != 0) return false;
    if (rename(name_.c_str(), target_.c_str()) != 0) return false;
    const int file = file_;
    file_ = -1;
    name_.clear();
    return close(file) == 0;
}

}  // namespace heapwood::platform
