#include "app/measure/builds/turn.h"

#include <utility>

#include "app/base/console.h"
#include "app/base/text.h"
#include "kdtree/tree/verify.h"

namespace heapwood::app {
namespace {

/// The first thing that is wrong with a finished build, or an empty string. Sets `verified`.
std::string fault(const Turn& turn, const MeasuredBuild& built, Result& result) {
    if (turn.verify) {
        show_progress("verifying the tree of " + std::string(result.allocator.name));
        const std::uint32_t depth = kdtree::max_depth(turn.config, turn.scene.triangles.size());
        if (const auto wrong = kdtree::verify(turn.scene, built.tree, depth)) {
            return "the tree is wrong: " + *wrong;
        }
        result.tree->verified = true;
    }
    if (result.allocator.full && result.leaked_bytes > 0) {
        return bytes_text(result.leaked_bytes) +
               " of the pool were still allocated after the "
               "build, which frees all: the allocator lost them";
    }
    return "";
}

/// Moves a finished build's figures into the result.
void record(const Turn& turn, MeasuredBuild& built, Result& result) {
    result.samples = built.milliseconds;
    result.upload_ms = built.upload_ms;
    result.pool_ms = built.pool_ms;
    result.pool_bytes = built.pool_bytes;
    result.overhead_bytes = built.overhead_bytes;
    result.leaked_bytes = built.leaked_bytes;
    result.memory = built.memory;
    result.warps = built.warps;
    result.registers = built.registers;
    result.spill_bytes = built.spill_bytes;
    if (turn.run.statistics && result.method == Method::single) {
        result.allocations = built.allocations;
    }
    result.peak = built.peak;
    result.heap_map = std::move(built.heap_map);
    result.profile = built.profile;
    result.trace = std::move(built.trace);
    if (built.external_fragmentation >= 0) {
        result.external_fragmentation = built.external_fragmentation;
    }
    TreeFacts tree;
    tree.quality = kdtree::quality(built.tree, turn.scene.triangles.size());
    tree.sah = tree.quality.sah(static_cast<double>(turn.config.traversal_cost),
                                static_cast<double>(turn.config.intersection_cost));
    tree.sah_1_1_5 = tree.quality.sah(1, 1.5);
    tree.digest = kdtree::digest(built.tree);
    tree.depth_limit = built.depth_limit;
    result.tree = tree;
}

}  // namespace

Outcome outcome_of(kdtree::Status status) {
    switch (status) {
        case kdtree::Status::done:
            return Outcome::done;
        case kdtree::Status::nodes_exhausted:
            return Outcome::nodes_exhausted;
        case kdtree::Status::references_exhausted:
        case kdtree::Status::over_budget:
            return Outcome::references_exhausted;
        case kdtree::Status::pool_exhausted:
            return Outcome::pool_exhausted;
        case kdtree::Status::interrupted:
            return Outcome::failed;
    }
    return Outcome::failed;
}

void guarded(Result& result, const std::function<void()>& work) {
    try {
        work();
    } catch (...) {
        const Failure failure = failure_in_flight();
        result.fail(failure.outcome, failure.message);
    }
}

Result take_turn(const Backend& backend, const Turn& turn) {
    Result result = result_of(backend);
    const std::uint64_t pool = turn.run.pool_bytes;
    result.pool_bytes = pool;
    guarded(result, [&] {
        if (pool < backend.traits.smallest_pool) {
            result.fail(Outcome::pool_exhausted, "a pool of " + bytes_text(pool) +
                                                     " is below the " +
                                                     bytes_text(backend.traits.smallest_pool) +
                                                     " that this allocator needs");
            return;
        }
        MeasuredBuild built = backend.build(turn.scene, turn.config, turn.run);
        if (built.status != kdtree::Status::done) {
            result.fail(built.overwritten ? Outcome::overwritten : outcome_of(built.status),
                        built.message);
            return;
        }
        record(turn, built, result);
        const std::string wrong = fault(turn, built, result);
        if (!wrong.empty()) {
            result.fail(Outcome::verification_failed, wrong);
        } else if (turn.keep != nullptr) {
            *turn.keep = std::move(built.tree);
        }
    });
    result.pool_multiple =
        static_cast<double>(result.pool_bytes) /
        static_cast<double>(kdtree::root_array_bytes(turn.scene.triangles.size()));
    return result;
}

}  // namespace heapwood::app
