#include "app/measure/engine/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "allocators/platform/file_bytes.h"
#include "app/base/exit_code.h"
#include "app/base/json_line.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// All that is in the file.
std::string contents(int descriptor) {
    std::string text;
    std::array<char, 65536> chunk;
    for (;;) {
        const ssize_t n = ::read(descriptor, chunk.data(), chunk.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return text;
        text.append(chunk.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace

std::vector<std::string> differences(const Json& header, const Json& other) {
    std::vector<std::string> different;
    for (const auto& [key, value] : header.items()) {
        if (key == "date" || key == "adopted") continue;
        if (!other.contains(key) || other.at(key) != value) different.push_back(key);
    }
    return different;
}

Journal::Journal(std::string path, const Json& header) : path_(std::move(path)), header_(header) {
    const auto refuse = [this](const std::string& why) {
        throw UsageError("'" + path_ + "' " + why);
    };
    created_ = access(path_.c_str(), F_OK) != 0;
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) refuse(std::string("cannot be written: ") + std::strerror(errno));
    try {
        const bool locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
        struct stat about {};
        if (fstat(descriptor_, &about) != 0 || !S_ISREG(about.st_mode)) {
            refuse("keeps no turns to go on from, and a journal is a file: name a regular one");
        }
        // The other one may have taken the file away between the opening and the lock.
        if (!locked || about.st_nlink == 0) refuse("is in use by another heapwood");
        read();
        if (headed_) compare(header);
    } catch (const std::exception&) {
        close(descriptor_);
        throw;
    }
}

Journal::~Journal() {
    if (created_ && !headed_) unlink(path_.c_str());
    if (descriptor_ >= 0) close(descriptor_);
}

bool Journal::is_in_use(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool free = file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0;
    if (file >= 0) close(file);
    return !free;
}

void Journal::read() {
    const std::string text = contents(descriptor_);
    const auto refuse = [this] {
        throw UsageError("'" + path_ +
                         "' is no journal of heapwood: delete it, or name another file");
    };
    std::size_t begin = 0;
    for (;;) {
        const std::size_t end = text.find('\n', begin);
        if (end == text.npos) break;
        const Json line = from_json_line(std::string_view(text).substr(begin, end - begin));
        if (line.is_discarded()) refuse();
        if (begin == 0) {
            header_ = line;
            headed_ = true;
        } else {
            entries_.push_back(line);
        }
        begin = end + 1;
    }
    // A header that was cut short is none, but other text without an end of line is somebody's.
    if (begin == 0 && !text.empty() && text.front() != '{') refuse();
    if (begin < text.size() && ftruncate(descriptor_, static_cast<off_t>(begin)) != 0) {
        throw UsageError("'" + path_ + "' cannot be written: " + std::strerror(errno));
    }
}

void Journal::compare(const Json& header) const {
    const std::vector<std::string> different = differences(header, header_);
    if (different.empty()) return;
    throw UsageError("'" + path_ +
                     "' is of another run, which differs in: " + joined(different, ", ") +
                     "; give the same arguments to the same program, or name another file");
}

bool Journal::append(const Json& entry) {
    const auto write = [this](const Json& line) {
        if (!platform::write_all(descriptor_, json_line(line) + "\n")) error_ = errno;
        return error_ == 0;
    };
    if (error_ != 0) return false;
    const bool written = (headed_ || write(header_)) && write(entry);
    headed_ = true;
    return written;
}

void Journal::remove() {
    unlink(path_.c_str());
    created_ = false;
}

}  // namespace heapwood::app
