/// @file
/// Workloads on a CPU: callers are shared out to threads, each of them a warp of width 1.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "allocators/platform/threads.h"
#include "app/backends/workload_machine.h"

namespace heapwood::app {

/// As many threads as the user asked for (0: one a core), but no more than there are callers.
unsigned thread_count(unsigned asked, std::uint64_t callers);

/// What a replay ends with where its callers cannot all run at the same time.
inline constexpr const char* kTooFewThreads =
    "the system gives fewer threads than a replay has callers; use fewer --threads";

/// An allocator's pool in the memory of the host.
template <allocators::Allocator A>
class CpuWorkloadPool : public WorkloadPool {
public:
    CpuWorkloadPool(const allocators::PoolConfig& config, unsigned threads)
        : allocator_(config), threads_(threads) {}

    double run(const allocators::Workload& workload) override {
        const typename A::Ref ref = allocator_.ref();
        const bool together = workload.work == allocators::Work::replay;
        return share_out(workload.callers, together,
                         [&](const auto& context, std::uint32_t caller) {
                             run_caller(ref, context, workload, caller);
                         });
    }
    double churn(const allocators::Churn& churn) override {
        const typename A::Ref ref = allocator_.ref();
        return share_out(churn.callers, false, [&](const auto& context, std::uint32_t caller) {
            churn_caller(ref, context, churn, caller);
        });
    }
    double update(const allocators::EdgeBatch& batch) override {
        const typename A::Ref ref = allocator_.ref();
        return share_out(batch.sources, false, [&](const auto& context, std::uint32_t source) {
            update_vertex(ref, context, batch, source);
        });
    }
    void reset() override { allocator_.reset(); }
    std::uint64_t pool_bytes() const override { return allocator_.pool_bytes(); }
    std::uint64_t overhead_bytes() const override { return allocator_.overhead_bytes(); }
    allocators::PoolUse use() const override { return allocators::measure_pool(allocator_); }

private:
    /// Has threads do the part of every caller. @param together whether each needs a thread of its
    /// own. @return milliseconds.
    template <class Part>
    double share_out(std::uint32_t callers, bool together, const Part& part) const {
        bool too_few = false;  // the system gave; the first thread's, until all have ended
        const auto work = [&](std::uint32_t thread, std::uint32_t threads) {
            if (together && threads < callers) {
                if (thread == 0) too_few = true;
                return;
            }
            const allocators::Context context{.multiprocessor = thread, .warp = thread};
            for (std::uint64_t caller = thread; caller < callers; caller += threads) {
                part(context, static_cast<std::uint32_t>(caller));
            }
        };
        const double ms = platform::run_threads(thread_count(threads_, callers), work);
        if (too_few) throw std::runtime_error(kTooFewThreads);
        return ms;
    }

    A allocator_;
    unsigned threads_;
};

}  // namespace heapwood::app
