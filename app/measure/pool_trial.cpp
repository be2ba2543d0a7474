#include "app/measure/pool_trial.h"

#include <new>
#include <stdexcept>

#include "allocators/memory/buffer.h"
#include "app/base/console.h"
#include "app/base/text.h"

namespace heapwood::app {

std::string pool_trial(const Backend& backend, const scenes::Scene& scene,
                       const kdtree::BuildConfig& config, RunOptions run, const PoolSize& failed,
                       std::uint64_t memory) {
    run.repeat = 3;  // how much is live at once depends on the schedule
    run.warm_up = 0;
    run.statistics = false;
    const std::uint64_t root = kdtree::root_array_bytes(scene.triangles.size());
    std::uint64_t tried = run.pool_bytes;
    // Half of the memory at most: side tables, the tree and other programs need some as well, and
    // a system that overcommits would kill the program rather than refuse.
    for (PoolSize size = failed.doubled(); size.bytes_for(root) <= memory / 2;
         size = size.doubled()) {
        run.pool_bytes = size.bytes_for(root);
        show_progress("looking for a pool that is enough: " + size.text());
        if (run.pool_bytes < backend.traits.smallest_pool) continue;
        kdtree::Status status = kdtree::Status::done;
        try {
            status = backend.build(scene, config, run).status;
        } catch (const std::invalid_argument&) {
            break;  // more than the allocator can manage
        } catch (const allocators::BufferError&) {
            break;
        } catch (const std::bad_alloc&) {
            break;
        }
        tried = run.pool_bytes;
        if (status == kdtree::Status::pool_exhausted) continue;
        if (status != kdtree::Status::done) {
            return "with a pool of " + size.text() + " the build went further and failed otherwise";
        }
        return "a pool of " + size.text() + " (" + bytes_text(run.pool_bytes) +
               ") was enough in a trial: use --pool " + size.text();
    }
    return "no larger pool that can be had was enough in a trial (the largest had " +
           bytes_text(tried) + "): try another allocator or a smaller scene";
}

}  // namespace heapwood::app
