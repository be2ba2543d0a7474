#include "app/base/held_signals.h"

#include <atomic>

namespace heapwood::app {
namespace {

constexpr std::array<int, 3> kHeld{SIGHUP, SIGINT, SIGTERM};

/// What the handler touches: lock-free, as a handler must.
std::atomic<int> held{0};
static_assert(std::atomic<int>::is_always_lock_free);

void hold(int signal) {
    held.store(signal);
}

}  // namespace

HeldSignals::HeldSignals() {
    held.store(0);
    for (std::size_t i = 0; i < kHeld.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = hold;
        action.sa_flags = SA_RESTART;
        sigaction(kHeld[i], nullptr, &before_[i]);
        if (before_[i].sa_handler != SIG_IGN) sigaction(kHeld[i], &action, nullptr);
    }
}

HeldSignals::~HeldSignals() {
    for (std::size_t i = 0; i < kHeld.size(); ++i) sigaction(kHeld[i], &before_[i], nullptr);
    if (const int signal = held.load(); signal != 0) std::raise(signal);
}

}  // namespace heapwood::app
