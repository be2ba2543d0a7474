/// @file
/// The machines on which the builder is tested, behind one interface, and builds on them that can
/// be made to fail.
///
/// A machine M has `name()`, `available()`, `kThreads` (host threads or lanes that run at once; 0
/// on a GPU), `kTriangles` (how large a scene it builds in a moment), and `make<A>(config)`: a
/// machine of kdtree/single/single_builder.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocators/measure/counting.cuh"
#include "kdtree/builder.h"
#include "tests/allocators/limiting.cuh"
#include "tests/allocators/platform/lockstep_warp.h"
#include "tests/kdtree/slow.h"

#if defined(__CUDACC__)
#include "tests/allocators/platform/machines.h"
#endif

namespace heapwood::kdtree::tests {

/// N threads, each of them a warp of width 1.
template <unsigned N>
struct Threads {
    static std::string name() { return "threads_" + std::to_string(N); }
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
    static std::string name() { return "lockstep_warps_" + std::to_string(N); }
    static constexpr unsigned kThreads = 32 * N;
    static constexpr std::uint64_t kTriangles = kSlow ? 40 : 80;
    static bool available() { return true; }

    struct Machine {
        allocators::Place place() const { return allocators::Place::host; }
        std::uint32_t warps() const { return N; }
        std::uint32_t cache_users() const { return 1; }
        std::uint32_t lanes() const { return heapwood::tests::LockstepWarp::width; }
        std::uint32_t multiprocessors() const { return N; }
        template <class A>
        EndedBuild launch(const Problem& problem, const typename A::Ref& allocator) const {
            using heapwood::tests::LockstepWarp;
            std::vector<Scratch<LockstepWarp>> scratch(N);
            heapwood::tests::run_lockstep(N, [&](const LockstepWarp& warp, unsigned w) {
                BuildWorker<LockstepWarp, SoloTeam, A> worker(
                    warp, {w, N}, problem, allocator, {.multiprocessor = w, .warp = w}, scratch[w]);
                worker.run();
            });
            return EndedBuild(0);
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
    static std::string name() { return "gpu"; }
    static constexpr unsigned kThreads = 0;
    static constexpr std::uint64_t kTriangles = 2000;
    static bool available() { return heapwood::tests::DeviceMachine::available(); }
    template <class A>
    static GpuMachine<A> make(const BuildConfig& config) {
        return GpuMachine<A>(config);
    }
};
#endif

/// Bytes of the pools: CUDA's cannot grow within a process, so all are as large as the largest.
template <class M>
inline constexpr std::uint64_t kPoolBytes = std::uint64_t{M::kThreads == 0 ? 256 : 64} << 20;

/// Which of a build's requests are refused: all after the first ones, or one in N.
struct Refusals {
    std::uint64_t after = ~std::uint64_t{0};
    std::uint64_t one_in = 0;  ///< 0: not one in N
    std::uint64_t seed = 0;    ///< of the choice of that one
};

/// A build that may have failed.
struct Attempt {
    Status status = Status::done;
    std::string message;
    BuildState state{};
    allocators::Statistics statistics;
    std::uint64_t leaked_bytes = 0;  ///< allocated regions of the pool, where it can be walked
    Tree tree;                       ///< if it is done
};

/// One build with A on M, of which requests are refused. The machine is that of builds with A
/// alone: one for each adaptor would compile kernels that nobody runs.
template <class A, class M>
Attempt attempt(const scenes::Scene& scene, const BuildConfig& config, std::uint64_t pool_bytes,
                const Refusals& refusals) {
    using Limited = heapwood::tests::Limiting<A>;
    using Counted = allocators::Counting<Limited>;
    const auto machine = M::template make<A>(config);
    allocators::ArrayPool array_pool(machine.place());
    BuildMemory memory(array_pool, scene, config, machine.warps(), machine.lanes());
    Counted allocator({.place = machine.place(),
                       .bytes = pool_bytes,
                       .largest_request = root_array_bytes(scene.triangles.size()),
                       .multiprocessors = machine.multiprocessors()});
    if (refusals.one_in != 0) {
        allocator.inner().fail_one_in(refusals.one_in, refusals.seed);
    } else {
        allocator.inner().fail_after(refusals.after);
    }
    memory.reset();
    machine.template launch<Counted>(memory.problem(), allocator.ref()).ms();

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

}  // namespace heapwood::kdtree::tests
