#include "app/measure/engine/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace heapwood::app {
namespace {

/// How long a process that has closed its side may take to end, and one that has been killed.
constexpr std::chrono::seconds kPatience{5};

[[noreturn]] void refuse(int error) {
    throw std::runtime_error(std::string("a worker process cannot be started: ") +
                             std::strerror(error));
}

std::string described(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
    }
    return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

/// Whether the process ends within the patience; then it is reaped.
bool ends(pid_t process, int& status) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (auto pause = std::chrono::microseconds(50); std::chrono::steady_clock::now() < deadline;
         pause = 2 * pause) {
        if (waitpid(process, &status, WNOHANG) != 0) return true;
        std::this_thread::sleep_for(pause);
    }
    return false;
}

/// As posix_spawn takes them, which takes words as writable, but does not write to them.
std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> all;
    for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    return all;
}

/// The program's variables, and these in place of those of the same names.
std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
    std::vector<std::string> all = variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        const std::string_view name = text.substr(0, text.find('=') + 1);
        const bool replaced = std::any_of(variables.begin(), variables.end(), [&](const auto& own) {
            return std::string_view(own).substr(0, name.size()) == name;
        });
        if (!replaced) all.emplace_back(text);
    }
    return all;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments,
             const std::vector<std::string>& environment) {
    std::array<int, 2> sockets{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) refuse(errno);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, sockets[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    const std::vector<std::string> variables = environment_with(environment);
    const int error = posix_spawn(&process_, "/proc/self/exe", &files, &attributes,
                                  pointers(arguments).data(), pointers(variables).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(sockets[1]);
    if (error != 0) {
        close(sockets[0]);
        refuse(error);
    }
    socket_ = sockets[0];
    lines_ = Lines(socket_);
}

Child::~Child() {
    if (process_ > 0) {
        kill(process_, SIGKILL);
        int status = 0;
        ends(process_, status);
    }
    close(socket_);
}

std::string Child::end() {
    int status = 0;
    bool ended = ends(process_, status);
    if (!ended) {
        kill(process_, SIGKILL);
        ended = ends(process_, status);
    }
    process_ = -1;
    return ended ? described(status) : "does not end, though it was killed";
}

void become_child() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal : {SIGINT, SIGHUP, SIGTERM}) std::signal(signal, SIG_IGN);
}

}  // namespace heapwood::app
