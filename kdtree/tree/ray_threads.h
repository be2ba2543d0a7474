/// @file
/// Spreads a loop over the cores of this machine.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace heapwood::kdtree {

/// Calls body(begin, end) for chunks that make up 0 .. count - 1, each once, on up to `threads`
/// threads (0: one a core), of which the caller's is one. Returns when all is done: what the calls
/// have written is then visible. The body must not throw.
template <class Body>
void for_chunks(std::uint64_t count, std::uint64_t chunk, unsigned threads, const Body& body) {
    const std::uint64_t chunks = count / chunk + (count % chunk != 0);
    const std::uint64_t wanted =
        threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
    std::atomic<std::uint64_t> next{0};
    const auto work = [&] {
        for (;;) {
            // Hands out numbers and publishes nothing: joining the threads does.
            const std::uint64_t mine = next.fetch_add(1, std::memory_order_relaxed);
            if (mine >= chunks) return;
            body(mine * chunk, std::min(count, (mine + 1) * chunk));
        }
    };
    std::vector<std::thread> others;
    try {
        for (std::uint64_t i = 1; i < std::min(wanted, chunks); ++i) others.emplace_back(work);
    } catch (const std::system_error&) {
        // The system gives no more threads; those that there are do all of the work.
    }
    work();
    for (std::thread& t : others) t.join();
}

}  // namespace heapwood::kdtree
