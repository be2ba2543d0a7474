#include "app/measure/builds/pool_search.h"

#include "app/base/console.h"
#include "app/base/outcome.h"
#include "app/base/text.h"

namespace heapwood::app {

RunOptions trial_run(RunOptions run, std::uint64_t pool_bytes) {
    run.pool_bytes = pool_bytes;
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

namespace {

/// How a build of the turn with another pool ends.
kdtree::Status try_pool(const Backend& backend, const Turn& turn, std::uint64_t bytes) {
    const MeasureOptions& options = turn.options;
    return backend.build(turn.scene, options.config, trial_run(options.run, bytes)).status;
}

}  // namespace

std::optional<std::uint64_t> minimal_pool(const Backend& backend, const Turn& turn) {
    const auto enough = [&](std::uint64_t bytes) {
        show_progress("looking for the smallest pool of " + std::string(backend.traits.name) +
                      ": " + bytes_text(bytes));
        return try_pool(backend, turn, bytes) == kdtree::Status::done;
    };
    return smallest_enough(backend.traits.smallest_pool, turn.options.run.pool_bytes, enough);
}

std::string pool_trial(const Backend& backend, const Turn& turn, const PoolSize& failed,
                       std::uint64_t memory) {
    const std::uint64_t root = kdtree::root_array_bytes(turn.scene.triangles.size());
    std::uint64_t tried = turn.options.run.pool_bytes;
    // Half of the memory at most: side tables, the tree and other programs need some as well, and
    // a system that overcommits would kill the program rather than refuse.
    for (PoolSize size = failed.doubled(); size.bytes_for(root) <= memory / 2;
         size = size.doubled()) {
        const std::uint64_t bytes = size.bytes_for(root);
        show_progress("looking for a pool that is enough: " + size.text());
        if (bytes < backend.traits.smallest_pool) continue;
        kdtree::Status status = kdtree::Status::done;
        try {
            status = try_pool(backend, turn, bytes);
        } catch (...) {
            if (failure_in_flight().outcome != Outcome::out_of_memory) throw;
            break;
        }
        tried = bytes;
        if (status == kdtree::Status::pool_exhausted) continue;
        if (status != kdtree::Status::done) {
            return "with a pool of " + size.text() + " the build went further and failed otherwise";
        }
        return "a pool of " + size.text() + " (" + bytes_text(bytes) +
               ") was enough in a trial: use --pool " + size.text();
    }
    return "no larger pool that can be had was enough in a trial (the largest had " +
           bytes_text(tried) + "): try another allocator or a smaller scene";
}

}  // namespace heapwood::app
