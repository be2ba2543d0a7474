#include "app/measure/minimal_pool.h"

#include "app/base/console.h"
#include "app/base/text.h"

namespace heapwood::app {

RunOptions trial_run(RunOptions run) {
    run.repeat = 3;
    run.warm_up = 0;
    run.statistics = false;
    return run;
}

std::optional<std::uint64_t> smallest_enough(std::uint64_t low, std::uint64_t high,
                                             const std::function<bool(std::uint64_t)>& enough) {
    if (!enough(high)) return std::nullopt;
    if (enough(low)) return low;
    while (high - low > high / 50) {
        const std::uint64_t middle = low + (high - low) / 2;
        (enough(middle) ? high : low) = middle;
    }
    return high;
}

std::optional<std::uint64_t> minimal_pool(const Backend& backend, const scenes::Scene& scene,
                                          const kdtree::BuildConfig& config, RunOptions run) {
    run = trial_run(run);
    return smallest_enough(backend.traits.smallest_pool, run.pool_bytes, [&](std::uint64_t bytes) {
        run.pool_bytes = bytes;
        show_progress("looking for the smallest pool of " + std::string(backend.traits.name) +
                      ": " + bytes_text(bytes));
        return backend.build(scene, config, run).status == kdtree::Status::done;
    });
}

}  // namespace heapwood::app
