/// @file
/// The program with allocators that go wrong while they are measured, for bench_test.py.
#include <chrono>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "allocators/circular.cuh"
#include "app/backends/backend.h"
#include "app/backends/workload_cpu.h"
#include "app/verbs/commands.h"
#include "tests/app/revolving.h"

namespace heapwood::app {
namespace {

using allocators::PoolConfig;
using allocators::Work;
using allocators::Workload;

/// CMalloc that goes wrong as kFault says, before a workload is run.
template <void (*kFault)(const Workload&)>
class FaultyPool : public CpuWorkloadPool<allocators::CMalloc> {
public:
    using CpuWorkloadPool::CpuWorkloadPool;

    double run(const Workload& workload) override {
        kFault(workload);
        return CpuWorkloadPool::run(workload);
    }
};

void nothing(const Workload&) {}

/// Requests of more than 16 bytes are never answered.
void hang(const Workload& workload) {
    if (workload.blocks.max_bytes <= 16) return;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// At requests of more than 16 bytes.
void die(const Workload& workload) {
    if (workload.blocks.max_bytes > 16) std::raise(SIGKILL);
}

/// As CUDA does after an error.
void fail(const Workload& workload) {
    if (workload.work == Work::deallocate) throw std::runtime_error("an illegal memory access");
}

template <class Pool>
std::unique_ptr<WorkloadPool> make(const PoolConfig& config, unsigned threads) {
    return std::make_unique<Pool>(config, threads);
}

constexpr Backend backend(const char* name, MakePool make_pool) {
    return {.traits = {.name = name,
                       .title = name,
                       .source = "a test",
                       .frees_individually = true,
                       .full = true,
                       .walkable = true,
                       .header_bytes = 0,
                       .smallest_pool = 4096},
            .gpu = false,
            .build = nullptr,
            .make_pool = make_pool};
}

constexpr Backend kFakes[] = {
    backend("good", make<FaultyPool<nothing>>),
    backend("hangs", make<FaultyPool<hang>>),
    backend("dies", make<FaultyPool<die>>),
    backend("fails", make<FaultyPool<fail>>),
    backend("revolves", make<CpuWorkloadPool<tests::Revolving>>),
};

std::vector<const Backend*> fakes() {
    std::vector<const Backend*> all;
    for (const Backend& fake : kFakes) all.push_back(&fake);
    return all;
}

}  // namespace
}  // namespace heapwood::app

int main(int argc, char** argv) {
    return static_cast<int>(heapwood::app::run(argc, argv, heapwood::app::fakes()));
}
