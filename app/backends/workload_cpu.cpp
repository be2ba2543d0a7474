#include "app/backends/workload_cpu.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace heapwood::app {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

/// The stage whose callers are threads of the host.
class CpuStage final : public WorkloadStage {
public:
    explicit CpuStage(unsigned threads) : threads_(thread_count(threads, ~std::uint64_t{0})) {}

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
        return run_threads(thread_count(threads_, touch.blocks.slots), work);
    }

    /// By one thread: the sums are few, and threads would cost more than they save.
    double place_by_prefix_sum(const allocators::Blocks& blocks) override {
        const auto start = Clock::now();
        std::vector<std::uint64_t> offsets(blocks.slots);
        std::uint64_t sum = 0;
        for (std::uint64_t slot = 0; slot < blocks.slots; ++slot) {
            offsets[slot] = sum;
            sum += blocks.bytes(slot);
        }
        placed_.reset(static_cast<char*>(std::malloc(sum)));
        if (!placed_) throw std::bad_alloc();
        for (std::uint64_t slot = 0; slot < blocks.slots; ++slot) {
            blocks.data[slot] = placed_.get() + offsets[slot];
        }
        return milliseconds(Clock::now() - start);
    }
    double release_placed() override {
        const auto start = Clock::now();
        placed_.reset();
        return milliseconds(Clock::now() - start);
    }

private:
    struct Free {
        void operator()(char* memory) const { std::free(memory); }
    };

    unsigned threads_;
    std::unique_ptr<char, Free> placed_;
};

}  // namespace

unsigned thread_count(unsigned asked, std::uint64_t callers) {
    const unsigned wanted = asked != 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
    return static_cast<unsigned>(std::clamp<std::uint64_t>(callers, 1, wanted));
}

double run_threads(unsigned threads,
                   const std::function<void(std::uint32_t, std::uint32_t)>& work) {
    struct Interval {
        Clock::time_point start;
        Clock::time_point end;
    };
    std::vector<Interval> intervals(threads);
    // 0 until all have been made; then how many there are.
    std::atomic<unsigned> count = 0;
    const auto run = [&](unsigned number) {
        while (count.load(std::memory_order_acquire) == 0) {
            std::this_thread::yield();
        }
        intervals[number].start = Clock::now();
        work(number, count.load(std::memory_order_relaxed));
        intervals[number].end = Clock::now();
    };
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
        for (unsigned i = 1; i < threads; ++i) others.emplace_back(run, i);
    } catch (const std::system_error&) {
        // The system gives no more threads; those that there are do all of the work.
    }
    const auto there = static_cast<unsigned>(others.size()) + 1;
    count.store(there, std::memory_order_release);  // the threads see all that was done before
    run(0);
    for (std::thread& t : others) t.join();
    intervals.resize(there);
    Interval all = intervals[0];
    for (const Interval& i : intervals) {
        all.start = std::min(all.start, i.start);
        all.end = std::max(all.end, i.end);
    }
    return milliseconds(all.end - all.start);
}

std::unique_ptr<WorkloadStage> cpu_stage(unsigned threads) {
    return std::make_unique<CpuStage>(threads);
}

}  // namespace heapwood::app
