/// @file
/// Spreads a loop over the cores of this machine.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "allocators/platform/threads.h"

namespace heapwood::platform {

/// Calls body(begin, end) for chunks that make up 0 .. count - 1, each once, on up to `threads`
/// threads (0: one a core), of which the caller's is one. Returns when all is done: what the calls
/// have written is then visible. If a call throws, its thread makes no more calls, the others go
/// on, and one of the exceptions is thrown again at the end.
template <class Body>
void for_chunks(std::uint64_t count, std::uint64_t chunk, unsigned threads, const Body& body) {
    const std::uint64_t chunks = count / chunk + (count % chunk != 0);
    if (chunks == 0) return;
    if (chunks == 1) return body(std::uint64_t{0}, count);  // to count the cores takes longer
    std::atomic<std::uint64_t> next{0};
    const auto most = static_cast<unsigned>(std::min<std::uint64_t>(thread_count(threads), chunks));
    run_threads(most, [&](std::uint32_t, std::uint32_t) {
        for (;;) {
            // Hands out numbers and publishes nothing: the end of the threads does.
            const std::uint64_t mine = next.fetch_add(1, std::memory_order_relaxed);
            if (mine >= chunks) return;
            body(mine * chunk, std::min(count, (mine + 1) * chunk));
        }
    });
}

}  // namespace heapwood::platform
