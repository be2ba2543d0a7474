/// @file
/// A program that uses the installed allocators from threads.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <heapwood/kdtree/tree/tree.h>
#include <heapwood/scenes/scene.h>

#include "stamp.h"

int main() {
    using namespace heapwood::allocators;
    constexpr unsigned kThreads = 4;
    CMalloc pool(
        PoolConfig{.place = Place::host, .bytes = kPoolBytes, .multiprocessors = kThreads});
    std::atomic<unsigned> wrong = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t, ref = pool.ref()] {
            wrong += stamp_blocks(ref, Context{.multiprocessor = t, .warp = t}, t);
        });
    }
    for (std::thread& thread : threads) thread.join();
    const std::uint64_t left = allocated_bytes(pool);
    std::printf("CPU: %u wrong, %llu bytes left allocated\n", wrong.load(),
                static_cast<unsigned long long>(left));
    return wrong == 0 && left == 0 ? 0 : 1;
}
