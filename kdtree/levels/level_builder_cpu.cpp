/// @file
/// The reference method on a CPU: every step is a loop over an array, which threads share.
#include <algorithm>
#include <numeric>
#include <system_error>
#include <thread>

#include "kdtree/levels/level_builder.h"
#include "kdtree/levels/level_driver.h"

namespace heapwood::kdtree {
namespace {

class CpuLevels {
public:
    explicit CpuLevels(unsigned threads)
        : threads_(threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency())) {}

    allocators::Place place() const { return allocators::Place::host; }
    std::uint32_t warps() const { return 8 * threads_; }

    template <class F>
    void for_each(std::uint32_t n, const F& f) {
        share(n, 4096, [&](std::uint32_t from, std::uint32_t to) {
            for (std::uint32_t i = from; i < to; ++i) f(i);
        });
    }
    template <class F>
    void for_each_warp(std::uint32_t n, const F& f) {
        share(n, std::clamp(n / warps(), 1U, 256U), [&](std::uint32_t from, std::uint32_t to) {
            typename F::Scratch scratch;
            for (std::uint32_t i = from; i < to; ++i) f(platform::SerialWarp{}, scratch, i);
        });
    }
    void exclusive_scan(allocators::ArrayPool&, Needs* values, std::uint32_t n) {
        std::exclusive_scan(values, values + n, values, Needs{});
    }
    void copy(void* to, const void* from, std::uint64_t bytes) {
        std::copy_n(static_cast<const std::byte*>(from), bytes, static_cast<std::byte*>(to));
    }
    template <class F>
    double time(const F& f) {
        const auto start = std::chrono::steady_clock::now();
        f();
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count();
    }

private:
    /// Calls work(from, to) for ranges of at most `grain` that make up 0 .. n, on all threads.
    template <class Work>
    void share(std::uint32_t n, std::uint32_t grain, const Work& work) {
        std::uint64_t next = 0;
        const auto take = [&] {
            for (std::uint64_t from = 0;
                 (from = platform::AtomicRef(next).add_relaxed(grain)) < n;) {
                work(static_cast<std::uint32_t>(from),
                     static_cast<std::uint32_t>(std::min<std::uint64_t>(from + grain, n)));
            }
        };
        std::vector<std::thread> others;
        try {
            const std::uint32_t useful = std::min(threads_, platform::ceil_div(n, grain));
            for (std::uint32_t i = 1; i < useful; ++i) others.emplace_back(take);
        } catch (const std::system_error&) {
            // The system gives no more threads; those that there are do all of the work.
        }
        take();
        for (std::thread& t : others) t.join();
    }

    unsigned threads_;
};

}  // namespace

BuildResult build_by_levels_on_cpu(const scenes::Scene& scene, const BuildConfig& config,
                                   const RunOptions& options) {
    CpuLevels machine(options.threads);
    BuildResult result = drive_levels(machine, scene, config, options);
    result.warps = machine.warps() / 8;
    return result;
}

}  // namespace heapwood::kdtree
