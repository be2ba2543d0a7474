/// @file
/// Pictures on a CPU.
#include <atomic>

#include "allocators/platform/for_chunks.h"
#include "app/render/render_loop.h"

namespace heapwood::app::detail {
namespace {

class CpuStages {
public:
    static constexpr std::uint64_t kSamples = 1 << 17;

    explicit CpuStages(unsigned threads) : threads_(threads) {}

    template <class Stage>
    Total run(std::uint64_t count, const Stage& stage) const {
        std::atomic<std::uint64_t> rays{0};
        std::atomic<std::uint64_t> shadow_rays{0};
        platform::for_chunks(count, 1024, threads_, [&](std::uint64_t begin, std::uint64_t end) {
            Total sum;
            for (std::uint64_t i = begin; i < end; ++i) sum.add(stage(i));
            // Sums; the end of the threads publishes them.
            rays.fetch_add(sum.rays, std::memory_order_relaxed);
            shadow_rays.fetch_add(sum.shadow_rays, std::memory_order_relaxed);
        });
        return {rays.load(), shadow_rays.load()};
    }

private:
    unsigned threads_;
};

}  // namespace

Rendering render_on_cpu(const RenderJob& job) {
    return RenderLoop<CpuStages>(job).run();
}

}  // namespace heapwood::app::detail
