#include "allocators/platform/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace heapwood::platform {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

/// One thread's part.
struct Part {
    Clock::time_point start;
    Clock::time_point end;
    std::exception_ptr error;
};

}  // namespace

unsigned thread_count(unsigned asked) {
    return asked != 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

std::uint32_t thread_number() {
    static std::atomic<std::uint32_t> next = 0;
    thread_local const std::uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
    return number;
}

double run_threads(unsigned threads,
                   const std::function<void(std::uint32_t, std::uint32_t)>& work) {
    std::vector<Part> parts(std::max(threads, 1U));
    // 0 until all threads have been made; then how many there are.
    std::atomic<std::uint32_t> count = 0;
    const auto run = [&](std::uint32_t number) {
        count.wait(0, std::memory_order_acquire);
        Part& part = parts[number];
        part.start = Clock::now();
        try {
            work(number, count.load(std::memory_order_relaxed));
        } catch (...) {
            part.error = std::current_exception();
        }
        part.end = Clock::now();
    };
    std::vector<std::thread> others;
    others.reserve(parts.size());
    try {
        for (std::uint32_t i = 1; i < parts.size(); ++i) others.emplace_back(run, i);
    } catch (const std::system_error&) {
        // The system gives no more threads; those that there are do all of the work.
    }
    parts.resize(others.size() + 1);
    count.store(static_cast<std::uint32_t>(parts.size()), std::memory_order_release);
    count.notify_all();
    run(0);
    for (std::thread& thread : others) thread.join();

    Clock::time_point start = parts[0].start;
    Clock::time_point end = parts[0].end;
    for (const Part& part : parts) {
        if (part.error) std::rethrow_exception(part.error);
        start = std::min(start, part.start);
        end = std::max(end, part.end);
    }
    return milliseconds(end - start);
}

double run_timed(const std::function<void()>& work) {
    const Clock::time_point start = Clock::now();
    work();
    return milliseconds(Clock::now() - start);
}

}  // namespace heapwood::platform
