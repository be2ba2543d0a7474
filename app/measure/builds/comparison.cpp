#include "app/measure/builds/comparison.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// The results of a scene whose builds ended with a tree.
std::vector<Result*> with_tree(Comparison& comparison, std::size_t scene) {
    std::vector<Result*> found;
    for (Group& group : comparison.groups) {
        if (group.scene != scene) continue;
        for (Result& r : group.report.results) {
            if (r.tree && r.outcome == Outcome::done) found.push_back(&r);
        }
    }
    return found;
}

/// A tree that others must equal, and why it is thought to be right.
struct TrueTree {
    std::uint64_t digest;
    std::string of;
};

std::optional<TrueTree> true_tree(const std::vector<Result*>& results) {
    for (const Result* r : results) {
        if (r->tree->verified) return TrueTree{r->tree->digest, "the verified one"};
    }
    for (const Result* r : results) {
        if (std::string_view(r->allocator.name) == "atomicmalloc") {
            return TrueTree{r->tree->digest, "atomicmalloc's"};
        }
    }
    std::map<std::uint64_t, std::size_t> votes;
    for (const Result* r : results) ++votes[r->tree->digest];
    std::optional<TrueTree> winner;
    std::size_t most = 0;
    for (const auto& [digest, count] : votes) {
        if (count == most) winner.reset();
        if (count <= most) continue;
        most = count;
        winner = TrueTree{digest, "that of most"};
    }
    return winner;
}

void judge_trees(const std::vector<Result*>& results) {
    if (results.empty()) return;
    const std::optional<TrueTree> right = true_tree(results);
    for (Result* r : results) {
        const std::string digest = hex(r->tree->digest);
        if (!right) {
            r->fail(Outcome::wrong_tree,
                    "the trees differ, as many are of each kind, and none is "
                    "known to be right; this one's digest is " +
                        digest);
        } else if (r->tree->digest != right->digest) {
            r->fail(Outcome::wrong_tree, "the tree's digest is " + digest + ", but " + right->of +
                                             " is " + hex(right->digest));
        }
    }
}

}  // namespace

void add_turn(Result& result, Result turn, unsigned repeat) {
    MeasuredBuild& built = result.built;
    if (turn.outcome != Outcome::done) {
        built.pool_bytes = turn.built.pool_bytes;
        result.fail(turn.outcome, std::move(turn.message));
        return;
    }
    std::swap(built, turn.built);
    const MeasuredBuild& before = turn.built;
    built.milliseconds.insert(built.milliseconds.begin(), before.milliseconds.begin(),
                              before.milliseconds.end());
    const std::optional<TreeFacts> first = std::exchange(result.tree, turn.tree);
    result.fail(built.milliseconds.size() < repeat ? Outcome::unfinished : Outcome::done, "");
    if (!first) return;
    // Only the first turn counts allocations and verifies.
    built.allocations = before.allocations;
    built.peak = before.peak;
    built.heap_map = before.heap_map;
    built.external_fragmentation = before.external_fragmentation;
    result.tree->verified = first->verified;
    if (first->digest != result.tree->digest) {
        result.fail(Outcome::wrong_tree, "the tree differs from run to run: " + hex(first->digest) +
                                             ", then " + hex(result.tree->digest));
    }
}

bool settled(const Result& result) {
    return result.outcome != Outcome::unfinished;
}

bool complete(const Comparison& comparison) {
    return std::all_of(comparison.groups.begin(), comparison.groups.end(), [](const Group& group) {
        return std::all_of(group.report.results.begin(), group.report.results.end(), settled);
    });
}

void judge(Comparison& comparison) {
    for (std::size_t scene = 0; scene < comparison.scenes.size(); ++scene) {
        judge_trees(with_tree(comparison, scene));
        const Group* baseline = nullptr;
        for (const Group& group : comparison.groups) {
            if (group.scene == scene && baseline == nullptr && reference_ms(group.report)) {
                baseline = &group;
            }
        }
        if (baseline == nullptr) continue;
        for (Group& group : comparison.groups) {
            if (group.scene != scene) continue;
            const bool own = reference_ms(group.report).has_value();
            group.report.baseline_ms = reference_ms(own ? group.report : baseline->report);
            group.baseline_pool = own ? group.pool : baseline->pool;
        }
    }
}

std::optional<std::size_t> fastest_full(const Group& group) {
    const std::vector<Result>& results = group.report.results;
    std::optional<std::size_t> fastest;
    double least = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Result& r = results[i];
        // The level method is no allocator.
        if (r.outcome != Outcome::done || !r.allocator.full || r.method != Method::single) continue;
        const double ms = spread(r.built.milliseconds).median;
        if (fastest && ms >= least) continue;
        fastest = i;
        least = ms;
    }
    return fastest;
}

ExitCode verdict(const Comparison& comparison) {
    std::vector<Outcome> outcomes;
    for (const Group& group : comparison.groups) {
        for (const Result& r : group.report.results) outcomes.push_back(r.outcome);
    }
    return exit_code(worst(outcomes));
}

std::string summary(const Comparison& comparison) {
    const ExitCode code = verdict(comparison);
    std::size_t cells = 0;
    std::size_t failed = 0;
    std::string example;
    for (const Group& group : comparison.groups) {
        for (const Result& r : group.report.results) {
            ++cells;
            if (r.outcome == Outcome::done) continue;
            ++failed;
            if (!example.empty() || exit_code(r.outcome) != code) continue;
            example = group.report.scene_path + ", pool " + group.pool + ", " + r.allocator.name +
                      ": " + r.message;
        }
    }
    return std::to_string(failed) + " of " + std::to_string(cells) + " cells failed; " + example;
}

}  // namespace heapwood::app
