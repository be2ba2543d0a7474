#include "app/base/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "allocators/platform/file_bytes.h"
#include "allocators/platform/new_file.h"
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

/// The error number of the last call of the system in words, behind a colon; nothing for 0.
std::string reason(int error) {
    return error == 0 ? "" : std::string(": ") + std::strerror(error);
}

/// Whether Output puts a new file in the place of what is there, or of nothing: not in that of a
/// device.
bool is_replaced(const std::filesystem::path& path) {
    std::error_code ignored;
    return !std::filesystem::exists(path, ignored) ||
           std::filesystem::is_regular_file(path, ignored);
}

/// Why the file cannot be written, with a remedy; empty: it can. Changes nothing.
std::string write_fault(const std::filesystem::path& path) {
    const auto fault = [](int error) {
        return std::strerror(error) +
               std::string("; name a file in a folder that is there and lets you write");
    };
    std::error_code ignored;
    const bool exists = std::filesystem::exists(path, ignored);
    if (exists) {
        const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
        if (file < 0) return fault(errno);
        close(file);
        if (!is_replaced(path)) return "";
    }
    // Where a folder takes no new files, the one that is there is written itself.
    if (const int error = platform::NewFile(path).error()) return exists ? "" : fault(error);
    return platform::obstacle(path);
}

/// What a name leads to, so that two names of one file can be told from names of two.
struct Identity {
    std::optional<std::pair<dev_t, ino_t>> file;
    std::filesystem::path path;  ///< of what does not exist; empty: nothing, or what keeps nothing

    bool operator==(const Identity& other) const {
        return file == other.file && path == other.path && (file || !path.empty());
    }
};

Identity identity_of(const std::string& name) {
    if (name.empty() || name == "-") return {};
    struct stat facts {};
    if (stat(name.c_str(), &facts) == 0) {
        if (S_ISCHR(facts.st_mode)) return {};
        return {.file = std::pair(facts.st_dev, facts.st_ino), .path = {}};
    }
    std::error_code error;
    const std::filesystem::path target = platform::link_target(name);
    const auto folder =
        std::filesystem::canonical(target.has_parent_path() ? target.parent_path() : ".", error);
    return {.file = {}, .path = error ? target : folder / target.filename()};
}

/// Standard output, if it is a file: tables that are written to it would be lost.
std::vector<NamedFile> standard_output() {
    struct stat facts {};
    if (fstat(STDOUT_FILENO, &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
    return {{"standard output", "/proc/self/fd/" + std::to_string(STDOUT_FILENO)}};
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
    const std::string fault = write_fault(path_);
    if (!fault.empty()) throw UsageError("cannot write '" + path_ + "': " + fault);
}

Output::~Output() {
    if (pipe_ >= 0) close(pipe_);
}

void Output::write(std::string_view text) {
    const auto fail = [this] {
        throw std::runtime_error("'" + path_ + "' could not be written in full" + reason(errno));
    };
    if (path_.empty()) return;
    if (path_ == "-") {
        write_to_stdout(text);
        return;
    }
    if (pipe_ >= 0) {
        if (!platform::write_all(pipe_, text)) fail();
        return;
    }
    if (is_replaced(path_)) {
        const HeldSignals held;
        if (platform::NewFile fresh(path_); fresh.error() == 0) {
            if (!platform::write_all(fresh.descriptor(), text) || !fresh.replace()) fail();
            return;
        }
    }
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) fail();
    const bool written = platform::write_all(file, text);
    const int error = errno;
    const bool closed = close(file) == 0;  // some file systems tell only now
    if (!written) errno = error;
    if (!written || !closed) fail();
}

void write_to_stdout(std::string_view text) {
    clear_progress();
    errno = 0;
    std::cout << text << std::flush;
    if (!std::cout) {
        throw std::runtime_error("standard output could not be written in full" + reason(errno));
    }
}

void guard_standard_streams() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
        // The lowest that is free, which is this one: open the wrong way for all uses of it.
        static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
}

void check_files(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
    std::vector<std::pair<Identity, NamedFile>> before;
    for (const NamedFile& input : inputs) before.emplace_back(identity_of(input.path), input);
    std::vector<NamedFile> written = standard_output();
    written.insert(written.end(), outputs.begin(), outputs.end());
    for (const NamedFile& output : written) {
        const Identity identity = identity_of(output.path);
        for (const auto& [other, name] : before) {
            if (identity == other) refuse(output, name);
        }
        before.emplace_back(identity, output);
    }
}

}  // namespace heapwood::app
