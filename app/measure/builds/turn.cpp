#include "app/measure/builds/turn.h"

#include <utility>

#include "app/base/console.h"
#include "app/base/pool_size.h"
#include "app/base/text.h"
#include "kdtree/tree/verify.h"

namespace heapwood::app {
namespace {

/// The first thing that is wrong with a finished build, or an empty string. Sets `verified`.
std::string fault(const Turn& turn, const kdtree::Tree& tree, Result& result) {
    if (turn.options.verify) {
        show_progress("verifying the tree of " + std::string(result.allocator.name));
        const std::uint32_t depth =
            kdtree::max_depth(turn.options.config, turn.scene.triangles.size());
        if (const auto wrong = kdtree::verify(turn.scene, tree, depth)) {
            return "the tree is wrong: " + *wrong;
        }
        result.tree->verified = true;
    }
    if (result.allocator.full && result.built.leaked_bytes > 0) {
        return bytes_text(result.built.leaked_bytes) +
               " of the pool were still allocated after the "
               "build, which frees all: the allocator lost them";
    }
    return "";
}

}  // namespace

TreeFacts facts_of(const kdtree::Tree& tree, const kdtree::BuildConfig& config,
                   std::uint64_t triangles) {
    TreeFacts facts{.quality = kdtree::quality(tree, triangles), .digest = kdtree::digest(tree)};
    facts.sah = facts.quality.sah(static_cast<double>(config.traversal_cost),
                                  static_cast<double>(config.intersection_cost));
    facts.sah_1_1_5 = facts.quality.sah(1, 1.5);
    return facts;
}

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
    const std::uint64_t pool = turn.options.run.pool_bytes;
    result.built.pool_bytes = pool;
    guarded(result, [&] {
        if (const std::string why = below_smallest_pool(pool, backend.traits); !why.empty()) {
            result.fail(Outcome::pool_exhausted, why);
            return;
        }
        MeasuredBuild built = backend.build(turn.scene, turn.options.config, turn.options.run);
        if (built.status != kdtree::Status::done) {
            result.fail(built.overwritten ? Outcome::overwritten : outcome_of(built.status),
                        built.message);
            return;
        }
        kdtree::Tree tree = std::move(built.tree);
        result.built = std::move(built);
        result.tree = facts_of(tree, turn.options.config, turn.scene.triangles.size());
        const std::string wrong = fault(turn, tree, result);
        if (!wrong.empty()) {
            result.fail(Outcome::verification_failed, wrong);
        } else if (turn.keep != nullptr) {
            *turn.keep = std::move(tree);
        }
    });
    return result;
}

}  // namespace heapwood::app
