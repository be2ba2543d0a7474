#include "app/measure/engine/interrupts.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

namespace heapwood::app {
namespace {

constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};

/// What the handler touches: lock-free, as a handler must.
std::atomic<int> came{0};
std::atomic<int> pipe_in{-1};
std::array<struct sigaction, kSignals.size()> former;
int pipe_out = -1;
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
    const int error = errno;
    came.store(signal);
    static_cast<void>(!write(pipe_in.load(), "!", 1));
    errno = error;
}

}  // namespace

Interrupts::Interrupts() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
    }
    pipe_out = ends[0];
    pipe_in.store(ends[1]);
    came.store(0);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = note;
        action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
        sigaction(kSignals[i], nullptr, &former[i]);
        if (former[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
}

Interrupts::~Interrupts() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former[i], nullptr);
    close(pipe_in.exchange(-1));
    close(pipe_out);
}

int Interrupts::descriptor() const {
    return pipe_out;
}

int Interrupts::signal() const {
    return came.load();
}

}  // namespace heapwood::app
