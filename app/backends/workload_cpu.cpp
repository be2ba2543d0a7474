#include "app/backends/workload_cpu.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace heapwood::app {
namespace {

/// The machine whose callers are threads of the host.
class CpuWorkloads final : public WorkloadMachine {
public:
    explicit CpuWorkloads(unsigned threads) : threads_(thread_count(threads, ~std::uint64_t{0})) {}

    allocators::Place place() const override { return allocators::Place::host; }
    std::uint32_t multiprocessors() const override { return threads_; }
    std::uint32_t threads() const override { return threads_; }
    std::uint32_t resident_callers() const override { return threads_; }

    double touch(const allocators::Touch& touch) override {
        const auto work = [&](std::uint32_t thread, std::uint32_t threads) {
            for (std::uint64_t slot = thread; slot < touch.blocks.slots; slot += threads) {
                for (std::uint32_t part = 0; part < allocators::kTouchers; ++part) {
                    touch_blocks(touch, slot * allocators::kTouchers + part);
                }
            }
        };
        return platform::run_threads(thread_count(threads_, touch.blocks.slots), work);
    }

    double copy_edges(const allocators::EdgeCopy& copy) override {
        const auto work = [&](std::uint32_t thread, std::uint32_t threads) {
            for (std::uint64_t vertex = thread; vertex < copy.vertices; vertex += threads) {
                for (std::uint32_t part = 0; part < allocators::kTouchers; ++part) {
                    allocators::copy_edges(copy, vertex * allocators::kTouchers + part);
                }
            }
        };
        return platform::run_threads(thread_count(threads_, copy.vertices), work);
    }

    /// By one thread: the sums are few, and threads would cost more than they save.
    double place_by_prefix_sum(const allocators::Blocks& blocks) override {
        return platform::run_timed([&] {
            std::vector<std::uint64_t> offsets(blocks.slots);
            std::uint64_t sum = 0;
            for (std::uint64_t slot = 0; slot < blocks.slots; ++slot) {
                offsets[slot] = sum;
                sum += blocks.bytes(slot);
            }
            placed_ = std::make_unique_for_overwrite<char[]>(sum);
            for (std::uint64_t slot = 0; slot < blocks.slots; ++slot) {
                blocks.data[slot] = placed_.get() + offsets[slot];
            }
        });
    }
    double release_placed() override {
        return platform::run_timed([&] { placed_.reset(); });
    }

private:
    unsigned threads_;
    std::unique_ptr<char[]> placed_;
};

}  // namespace

unsigned thread_count(unsigned asked, std::uint64_t callers) {
    return static_cast<unsigned>(
        std::clamp<std::uint64_t>(callers, 1, platform::thread_count(asked)));
}

std::unique_ptr<WorkloadMachine> cpu_workloads(unsigned threads) {
    return std::make_unique<CpuWorkloads>(threads);
}

}  // namespace heapwood::app
