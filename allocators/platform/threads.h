/// @file
/// Work on several threads of the host. Nothing else starts a thread that computes.
#pragma once

#include <cstdint>
#include <functional>

namespace heapwood::platform {

/// As many threads as are asked for; for 0, one for each hardware thread.
unsigned thread_count(unsigned asked);

/// The calling thread's number, which it keeps: threads are counted from 0 as they first ask.
std::uint32_t thread_number();

/// Calls `work(thread, threads)` at once on `threads` threads, numbered from 0, of which the
/// caller's is the first. If the system gives fewer, `threads` says in all calls how many there
/// are. Returns when all calls have returned; what the caller did before happens before all calls,
/// and they happen before what it does afterwards. If calls throw, what the one with the lowest
/// number threw is thrown again then.
/// @return milliseconds from the start of the first call to the end of the last one.
double run_threads(unsigned threads, const std::function<void(std::uint32_t, std::uint32_t)>& work);

/// Runs `work` on the caller's thread. @return the milliseconds it took.
double run_timed(const std::function<void()>& work);

}  // namespace heapwood::platform
