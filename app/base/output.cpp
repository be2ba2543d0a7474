#include "app/base/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "app/base/console.h"
#include "app/base/exit_code.h"

namespace heapwood::app {
namespace {

/// Opens a named pipe that a process reads. @throws UsageError if none does.
int open_pipe(const std::string& path) {
    const int pipe = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe < 0) {
        throw UsageError("cannot write '" + path + "': " +
                         (errno == ENXIO
                              ? "no process reads this named pipe; start the reader first"
                              : std::strerror(errno)));
    }
    fcntl(pipe, F_SETFL, 0);  // from now on a slow reader is waited for
    std::signal(SIGPIPE, SIG_IGN);
    return pipe;
}

bool wrote_all(int pipe, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(pipe, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// Whether both names lead to one file, or will, but for devices, which keep nothing.
bool same_file(const std::string& a, const std::string& b) {
    if (a.empty() || b.empty() || a == "-" || b == "-") return false;
    struct stat x {};
    struct stat y {};
    const bool has_x = stat(a.c_str(), &x) == 0;
    const bool has_y = stat(b.c_str(), &y) == 0;
    if (has_x && has_y) {
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino && !S_ISCHR(x.st_mode);
    }
    std::error_code error;
    return !has_x && !has_y &&
           std::filesystem::weakly_canonical(std::filesystem::absolute(a), error) ==
               std::filesystem::weakly_canonical(std::filesystem::absolute(b), error);
}

void refuse(const NamedFile& output, const NamedFile& other) {
    throw UsageError(output.name + " '" + output.path + "' and " + other.name + " '" + other.path +
                     "' are the same file: one would overwrite the other; name another file");
}

}  // namespace

Output::Output(std::string path) : path_(std::move(path)) {
    if (path_.empty() || path_ == "-") return;
    std::error_code ignored;
    if (std::filesystem::is_fifo(path_, ignored)) {
        pipe_ = open_pipe(path_);
        return;
    }
    const bool existed = std::filesystem::exists(path_, ignored);
    errno = 0;
    const std::ofstream probe(path_, std::ios::app);
    if (!probe) {
        throw UsageError("cannot write '" + path_ + "': " + std::strerror(errno) +
                         "; name a file in a folder that is there and lets you write");
    }
    created_ = !existed;
}

Output::~Output() {
    std::error_code ignored;
    if (created_) std::filesystem::remove(path_, ignored);
    if (pipe_ >= 0) close(pipe_);
}

void Output::write(std::string_view text) {
    const auto fail = [this] {
        throw std::runtime_error("'" + path_ + "' could not be written in full");
    };
    if (path_.empty()) return;
    if (path_ == "-") {
        write_to_stdout(text);
        return;
    }
    if (pipe_ >= 0) {
        if (!wrote_all(pipe_, text)) fail();
        return;
    }
    // Into a new file that then takes the place of the old one, so that there is always a whole
    // one; but not in the place of a device, or where the folder takes no new files.
    std::error_code error;
    const std::filesystem::path target = std::filesystem::canonical(path_, error);
    const std::filesystem::path fresh = target.string() + ".new";
    if (!error && std::filesystem::is_regular_file(target, error)) {
        if (std::ofstream file(fresh, std::ios::trunc | std::ios::binary); file) {
            file << text << std::flush;
            file.close();
            if (file) std::filesystem::rename(fresh, target, error);
            if (file && !error) {
                created_ = false;
                return;
            }
            std::filesystem::remove(fresh, error);
            fail();
        }
    }
    created_ = false;
    std::ofstream file(path_, std::ios::trunc | std::ios::binary);
    file << text << std::flush;
    if (!file) fail();
}

void write_to_stdout(std::string_view text) {
    clear_progress();
    std::cout << text << std::flush;
    if (!std::cout) throw std::runtime_error("standard output could not be written in full");
}

void check_files(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const NamedFile& output = outputs[i];
        for (const NamedFile& input : inputs) {
            for (const char* beside : {"", ".new", ".partial"}) {
                if (!output.path.empty() && same_file(output.path + beside, input.path)) {
                    refuse(output, input);
                }
            }
        }
        for (std::size_t j = 0; j < i; ++j) {
            if (same_file(output.path, outputs[j].path)) refuse(output, outputs[j]);
        }
    }
}

}  // namespace heapwood::app
