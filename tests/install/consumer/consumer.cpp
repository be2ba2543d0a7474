/// @file
/// A program that uses the installed allocators from threads, and builds a tree.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <heapwood/kdtree/builder.h>
#include <heapwood/kdtree/levels/level_builder.h>
#include <heapwood/scenes/scene.h>

#include "stamp.h"

/// Builds a tree once, by the template that is compiled here. @return whether it is done, and the
/// one of the builder that is in the library.
bool build_tree() {
    using namespace heapwood;
    const scenes::Scene scene = scenes::load("gen:soup:10000");
    const std::uint64_t pool = 20 * kdtree::root_array_bytes(scene.triangles.size());
    const kdtree::BuildResult built =
        kdtree::build_on_cpu<allocators::CMalloc>(scene, {}, {.pool_bytes = pool});
    const kdtree::BuildResult wanted = kdtree::build_by_levels_on_cpu(scene, {}, {});
    const bool same = digest(built.tree) == digest(wanted.tree);
    std::printf("tree: %zu nodes%s %s\n", built.tree.nodes.size(), same ? "" : ", another tree",
                built.message.c_str());
    return built.status == kdtree::Status::done && built.leaked_bytes == 0 && same;
}

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
    return wrong == 0 && left == 0 && build_tree() ? 0 : 1;
}
