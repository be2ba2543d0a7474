/// @file
/// The machines on which the builder is tested, behind one interface, and builds on them that can
/// be made to fail.
///
/// A machine M has `name`, `available()`, `kThreads` (host threads or lanes that run at once; 0 on
/// a GPU), `kTriangles` (how large a scene it builds in a moment), and `make<A>(config)`: a machine
/// of kdtree/single/single_builder.h.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "allocators/atomicmalloc.cuh"
#include "allocators/measure/counting.cuh"
#include "kdtree/builder.h"
#include "tests/allocators/limiting.cuh"
#include "tests/allocators/platform/lockstep_warp.h"

#if defined(__CUDACC__)
#include "tests/allocators/platform/machines.h"
#endif

namespace heapwood::kdtree::tests {

/// Whether each step takes several times as long as usual.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = false;
#endif

/// N threads, each of them a warp of width 1.
template <unsigned N>
struct Threads {
    static constexpr const char* name = "threads";
    static constexpr unsigned kThreads = N;
    static constexpr std::uint64_t kTriangles = kSlow ? 400 : 2000;
    static bool available() { return true; }
    template <class A>
    static CpuMachine make(const BuildConfig&) {
        return CpuMachine(N);
    }
};

/// N warps of 32 threads each.
template <unsigned N>
struct LockstepWarps {
    static constexpr const char* name = "lockstep warps";
    static constexpr unsigned kThreads = 32 * N;
    static constexpr std::uint64_t kTriangles = kSlow ? 40 : 80;
    static bool available() { return true; }

    struct Machine {
        allocators::Place place() const { return allocators::Place::host; }
        std::uint32_t warps() const { return N; }
        std::uint32_t multiprocessors() const { return N; }
        template <class A>
        double run(const Problem& problem, const typename A::Ref& allocator) const {
            using heapwood::tests::LockstepWarp;
            std::vector<Scratch<LockstepWarp>> scratch(N);
            heapwood::tests::run_lockstep(N, [&](const LockstepWarp& warp, unsigned w) {
                BuildWorker<LockstepWarp, A> worker(warp, problem, allocator,
                                                    {.multiprocessor = w, .warp = w}, scratch[w]);
                worker.run();
            });
            return 0;
        }
        template <class A>
        void describe(BuildResult&) const {}
    };
    template <class A>
    static Machine make(const BuildConfig&) {
        return {};
    }
};

#if defined(__CUDACC__)
/// The GPU, as many warps as are resident.
struct Gpu {
    static constexpr const char* name = "GPU";
    static constexpr unsigned kThreads = 0;
    static constexpr std::uint64_t kTriangles = 2000;
    static bool available() { return heapwood::tests::DeviceMachine::available(); }
    template <class A>
    static GpuMachine<A> make(const BuildConfig& config) {
        return GpuMachine<A>(config);
    }
};
#endif

/// What a test is instantiated for: an allocator on a machine.
template <class AllocatorType, class MachineType>
struct BuildSubject {
    using Allocator = AllocatorType;
    using Machine = MachineType;
};

/// Bytes of the pools: CUDA's cannot grow within a process, so all are as large as the largest.
template <class M>
inline constexpr std::uint64_t kPoolBytes = std::uint64_t{M::kThreads == 0 ? 256 : 64} << 20;

/// A build that may have failed.
struct Attempt {
    Status status = Status::done;
    std::string message;
    BuildState state{};
    allocators::Statistics statistics;
    std::uint64_t leaked_bytes = 0;  ///< allocated regions of the pool, where it can be walked
    Tree tree;                       ///< if it is done
};

/// One build with A, which refuses requests as `limit` (called with the Limiting adaptor) tells it
/// to.
template <class A, class M, class Limit>
Attempt attempt(const scenes::Scene& scene, const BuildConfig& config, std::uint64_t pool_bytes,
                const Limit& limit) {
    using Limited = heapwood::tests::Limiting<A>;
    using Counted = allocators::Counting<Limited>;
    const auto machine = M::template make<Limited>(config);
    allocators::ArrayPool array_pool(machine.place());
    BuildMemory memory(array_pool, scene, config, machine.warps());
    Counted allocator({.place = machine.place(),
                       .bytes = pool_bytes,
                       .largest_request = root_array_bytes(scene.triangles.size()),
                       .multiprocessors = machine.multiprocessors()});
    limit(allocator.inner());
    memory.reset();
    machine.template run<Counted>(memory.problem(), allocator.ref());

    Attempt result;
    result.state = memory.state();
    result.status = static_cast<Status>(result.state.status.value);
    result.message = explain(result.status, memory.problem(), result.state, pool_bytes);
    result.statistics = allocator.statistics();
    allocator.for_each_region([&](const allocators::Region& region) {
        if (region.allocated) result.leaked_bytes += region.size;
    });
    if (result.status == Status::done) result.tree = memory.tree();
    return result;
}

/// Every block that an allocator gave has been given back, if it takes blocks back.
template <class A>
void expect_pool_is_whole(const Attempt& a, const std::string& what) {
    if (A::traits().frees_individually && !A::traits().splittable) {
        EXPECT_EQ(a.statistics.requests - a.statistics.failed, a.statistics.frees) << what;
    }
    if (A::traits().full) {
        EXPECT_EQ(a.leaked_bytes, 0U) << what;
    }
}

/// The tree of one thread with AtomicMalloc: what all others are compared with. Found correct by
/// tree_correctness_test.cpp.
inline Tree plain_tree(const scenes::Scene& scene, const BuildConfig& config) {
    BuildOptions options;
    options.pool_bytes = (std::uint64_t{1} << 30) + 200 * root_array_bytes(scene.triangles.size());
    options.threads = 1;
    BuildConfig all = config;
    all.small_arrays = true;
    const BuildResult result = build_on_cpu<allocators::AtomicMalloc>(scene, all, options);
    EXPECT_EQ(result.status, Status::done) << scene.path << ": " << result.message;
    return result.tree;
}

}  // namespace heapwood::kdtree::tests
