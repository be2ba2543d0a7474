#include "tests/faults/watched.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <thread>

namespace heapwood::tests {

struct Steps::Shared {
    std::atomic<std::uint64_t> count;
    std::array<char, 240> what;
};

Steps::Steps() {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    shared_ = new (memory) Shared{};
}

Steps::~Steps() {
    munmap(shared_, sizeof(Shared));
}

void Steps::begin(const std::string& what) {
    const std::size_t size = std::min(what.size(), shared_->what.size() - 1);
    std::copy_n(what.begin(), size, shared_->what.begin());
    shared_->what[size] = 0;
    shared_->count.fetch_add(1, std::memory_order_release);
}

std::uint64_t Steps::count() const {
    return shared_->count.load(std::memory_order_acquire);
}

std::string Steps::what() const {
    return shared_->what.data();
}

namespace {

[[noreturn]] void run_child(Steps& steps, const std::function<void(Steps&)>& body) {
    try {
        body(steps);
    } catch (const std::exception& error) {
        ADD_FAILURE() << steps.what() << ": " << error.what();
    }
    std::cout.flush();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace

std::uint64_t run_watched(std::chrono::seconds patience, const std::function<void(Steps&)>& body) {
    using Clock = std::chrono::steady_clock;
    Steps steps;
    std::cout.flush();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) run_child(steps, body);
    if (child < 0) throw std::runtime_error("no process");
    std::uint64_t seen = 0;
    auto deadline = Clock::now() + patience;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (const std::uint64_t now = steps.count(); now != seen) {
            seen = now;
            deadline = Clock::now() + patience;
        }
        if (Clock::now() > deadline) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            ADD_FAILURE() << "HANG in step " << steps.count() << ": " << steps.what();
            return steps.count();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (WIFSIGNALED(status)) {
        ADD_FAILURE() << "CRASH by signal " << WTERMSIG(status) << " in step " << steps.count()
                      << ": " << steps.what();
    } else {
        EXPECT_EQ(WEXITSTATUS(status), 0) << "see above";
    }
    return steps.count();
}

}  // namespace heapwood::tests
