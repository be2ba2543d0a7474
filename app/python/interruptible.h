/// @file
/// Ctrl-C during calls that take long: Python notes signals, and its main thread has to look.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <semaphore>
#include <stop_token>

#include "allocators/platform/threads.h"

namespace heapwood::python {

/// Calls work(stop) on a second thread. Meanwhile this one, which does not hold Python's lock,
/// looks at signals. When a handler raises, as Ctrl-C's does, `stop` is requested, and what was
/// raised is thrown when the work has ended. Of other threads than Python's main one, signals have
/// no effect.
/// @throws nanobind::python_error, and what the work throws.
template <class Work>
void run_interruptibly(const Work& work) {
    constexpr std::chrono::milliseconds kLook{50};
    std::stop_source source;
    std::binary_semaphore ended{0};
    const auto work_on = [&] {
        struct Ending {
            std::binary_semaphore& ended;
            ~Ending() { ended.release(); }
        } const ending{ended};
        work(source.get_token());
    };
    const auto look = [&] {
        while (!ended.try_acquire_for(kLook)) {
            const nanobind::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() == 0) continue;
            source.request_stop();
            throw nanobind::python_error();
        }
    };
    platform::run_threads(2, [&](std::uint32_t thread, std::uint32_t threads) {
        // A system without a second thread has nothing that could look.
        thread + 1 == threads ? work_on() : look();
    });
}

}  // namespace heapwood::python
