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
#include "app/base/held_signals.h"

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
    return pipe;
}

bool wrote_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(file, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// The file that a path means: links are followed, also to a file that is not there.
std::filesystem::path target_of(std::filesystem::path path) {
    std::error_code error;
    for (int links = 0; links < 40 && std::filesystem::is_symlink(path, error); ++links) {
        path = path.parent_path() / std::filesystem::read_symlink(path, error);
    }
    return path;
}

/// A new file beside the one whose place it is to take. While there is one, the signals that end
/// the program wait: only SIGKILL leaves it behind. Its name is one that no file has, so that
/// programs that write the same file at once do not meet.
class FreshFile {
public:
    /// errno says why the file is not open, if it is not.
    explicit FreshFile(const std::filesystem::path& target) : target_(target) {
        for (int number = 1; file_ < 0; ++number) {
            path_ = target.string() + (number == 1 ? "" : "." + std::to_string(number)) + ".new";
            file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (file_ < 0 && errno != EEXIST) break;
        }
    }
    FreshFile(const FreshFile&) = delete;
    FreshFile& operator=(const FreshFile&) = delete;
    ~FreshFile() {
        if (file_ >= 0) {
            close(file_);
            unlink(path_.c_str());
        }
    }

    explicit operator bool() const { return file_ >= 0; }

    /// Takes the place with that text. @return whether all of it is there; else nothing is changed.
    bool replace(std::string_view text) {
        const bool wrote = wrote_all(file_, text);
        const bool closed = close(file_) == 0;
        file_ = -1;
        if (wrote && closed && rename(path_.c_str(), target_.c_str()) == 0) return true;
        unlink(path_.c_str());
        return false;
    }

private:
    const HeldSignals held_;
    std::filesystem::path target_;
    std::string path_;
    int file_ = -1;
};

/// Whether the file can be written; else errno says why. Changes nothing.
bool is_writable(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return bool(FreshFile(path));
    const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0) return false;
    close(file);
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
    if (!is_writable(target_of(path_))) {
        throw UsageError("cannot write '" + path_ + "': " + std::strerror(errno) +
                         "; name a file in a folder that is there and lets you write");
    }
}

Output::~Output() {
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
    // Not in the place of a device, nor where the folder takes no new files.
    const std::filesystem::path target = target_of(path_);
    std::error_code error;
    if (!std::filesystem::exists(target, error) ||
        std::filesystem::is_regular_file(target, error)) {
        if (FreshFile fresh(target); fresh) {
            if (!fresh.replace(text)) fail();
            return;
        }
    }
    std::ofstream file(path_, std::ios::trunc | std::ios::binary);
    file << text << std::flush;
    if (!file) fail();
}

void write_to_stdout(std::string_view text) {
    clear_progress();
    std::cout << text << std::flush;
    if (!std::cout) throw std::runtime_error("standard output could not be written in full");
}

void guard_standard_streams() {
    std::signal(SIGPIPE, SIG_IGN);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
        // The lowest that is free, which is this one: open the wrong way for all uses of it.
        static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
}

void check_files(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const NamedFile& output = outputs[i];
        for (const NamedFile& input : inputs) {
            for (const char* beside : {"", ".partial"}) {
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
