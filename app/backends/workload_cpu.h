/// @file
/// Workloads on a CPU: callers are shared out to threads, each of them a warp of width 1.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "app/bench/stage.h"

namespace heapwood::app {

/// Calls `work(thread, threads)` on so many threads at once, or on fewer if the system gives no
/// more. @return milliseconds from the first one's start to the last one's end.
double run_threads(unsigned threads, const std::function<void(std::uint32_t, std::uint32_t)>& work);

/// As many threads as the user asked for (0: one a core), but no more than there are callers.
unsigned thread_count(unsigned asked, std::uint64_t callers);

/// An allocator's pool in the memory of the host.
template <allocators::Allocator A>
class CpuWorkloadPool : public WorkloadPool {
public:
    CpuWorkloadPool(const allocators::PoolConfig& config, unsigned threads)
        : allocator_(config), threads_(threads) {}

    double run(const allocators::Workload& workload) override {
        const typename A::Ref ref = allocator_.ref();
        const auto work = [&](std::uint32_t thread, std::uint32_t threads) {
            const allocators::Context context{.multiprocessor = thread, .warp = thread};
            for (std::uint64_t caller = thread; caller < workload.callers; caller += threads) {
                run_caller(ref, context, workload, static_cast<std::uint32_t>(caller));
            }
        };
        return run_threads(thread_count(threads_, workload.callers), work);
    }
    void reset() override { allocator_.reset(); }
    std::uint64_t pool_bytes() const override { return allocator_.pool_bytes(); }
    std::uint64_t overhead_bytes() const override { return allocator_.overhead_bytes(); }

private:
    A allocator_;
    unsigned threads_;
};

}  // namespace heapwood::app
