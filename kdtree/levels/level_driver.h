/// @file
/// Runs a build level by level on a machine: its arrays and the order of its steps.
///
/// A machine does a few things to arrays, one after another:
///     Place place() const;
///     std::uint32_t warps() const;  // about how many items of work keep it busy
///     void for_each(std::uint32_t n, const F& f);       // f(i) for all i < n
///     void for_each_warp(std::uint32_t n, const F& f);  // f(warp, scratch, i), a warp each
///     void exclusive_scan(ArrayPool&, Needs* values, std::uint32_t n);  // in place
///     void copy(void* to, const void* from, std::uint64_t bytes);
///     double time(const F& f);  // runs f; milliseconds
///     using Search = ...;  // of all planes of a small node: ExactSearch or SerialExactSearch
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "allocators/memory/array_pool.h"
#include "allocators/platform/threads.h"
#include "kdtree/build_result.h"
#include "kdtree/depth_search.h"
#include "kdtree/levels/level_input.h"
#include "kdtree/levels/level_steps.cuh"
#include "kdtree/single/build_input.h"
#include "kdtree/tree/canonical_copy.h"

namespace heapwood::kdtree {

/// A scene, or a cell of a larger tree, in a machine's memory, and the builds of its tree. Refers
/// to machine, pool and the input's references, but not to its triangles.
template <class Machine>
class LevelDriver {
    using Block = allocators::ArrayPool::Block;

public:
    /// Uploads the triangles and references. @throws allocators::BufferError.
    LevelDriver(Machine& machine, allocators::ArrayPool& pool, const LevelInput& input,
                const BuildConfig& config, std::stop_token stop)
        : machine_(machine), pool_(pool), config_(config), input_(input), stop_(std::move(stop)) {
        triangles_ = pool_.request(input.triangles.size_bytes(), "the triangles");
        triangles_.write(0, input.triangles.data(), input.triangles.size_bytes());
        static_cast<TreeRules&>(problem_) = input.rules;
        problem_.triangles = triangles_.as<Triangle>();
    }
    /// For one build of a node whose references lie in the machine's memory already.
    /// @param input without triangles and references
    /// @param triangles that the references name
    /// @param references of the pool, which the build takes
    LevelDriver(Machine& machine, allocators::ArrayPool& pool, const LevelInput& input,
                const Triangle* triangles, Block references, const BuildConfig& config)
        : machine_(machine),
          pool_(pool),
          config_(config),
          input_(input),
          given_(std::move(references)) {
        static_cast<TreeRules&>(problem_) = input.rules;
        problem_.triangles = triangles;
    }

    /// The largest depth a tree may have by its configuration.
    std::uint32_t max_depth() const { return problem_.max_depth; }

    /// One build, to at most that depth; the status is done or one of those that say what there was
    /// too little of, or too much.
    Status build(std::uint32_t max_depth) {
        problem_.max_depth = max_depth;
        begin();
        // Whether a build that has failed goes on, to find whether it is over its budget.
        const bool limited = input_.budget != std::numeric_limits<std::uint64_t>::max();
        Arrays level = root();
        while (level.level.count > 0) {
            if (stop_.stop_requested()) {
                fail(Status::interrupted, "the build was interrupted");
                return status_;
            }
            const Needs needs = decide(level);
            // Each reference of the next level becomes one of a leaf, or more.
            if (tree_.next_reference + needs.leaf_references + needs.references > input_.budget) {
                return Status::over_budget;
            }
            make_room(needs);
            if (status_ != Status::done && !limited) return status_;
            Arrays next = make_level(needs.pieces, needs.references, needs.binned);
            level.items = pool_.request(needs.items * sizeof(LevelItem), "items of work");
            level.level.items = level.items.template as<LevelItem>();
            machine_.for_each_warp(needs.binned, ClearBins{next.level});
            machine_.for_each(level.level.count, Emit{problem_, level.level, next.level, tree_});
            machine_.for_each_warp(needs.items, Divide{problem_, level.level, next.level, tree_});
            tree_.next_pair += needs.pairs;
            tree_.next_reference += needs.leaf_references;
            level = std::move(next);
        }
        return status_;
    }

    /// A sentence on why the last build ended early.
    const std::string& message() const { return message_; }

    /// Bytes of everything at the peak since the array pool's last reset_peak.
    MemoryUse use() const {
        const allocators::ArrayPool::Statistics s = pool_.statistics();
        MemoryUse use;
        use.triangles = triangles_.size();
        use.nodes = nodes_.size();
        use.references = references_.size();
        use.levels = s.peak_live_bytes - use.total();
        use.spare = s.peak_slab_bytes - s.peak_live_bytes;
        return use;
    }

    /// The tree of the last build, in canonical form.
    Tree tree() const {
        const detail::UnorderedTree made = unordered();
        return canonical_copy<Block>({nodes_, made.node_end, references_, made.reference_end,
                                      made.bounds, made.scale, pool_.place()});
    }
    /// The same where it lies, until the next build.
    detail::UnorderedTree unordered() const {
        const float scale = input_.normalisation;
        const Box& cell = input_.root.cell;
        return {.nodes = tree_.nodes,
                .node_end = 2 * std::uint64_t{tree_.next_pair},
                .references = tree_.references,
                .reference_end = tree_.next_reference,
                .bounds = {cell.lo / scale, cell.hi / scale},
                .scale = scale};
    }

private:
    /// The owners of a level's arrays.
    struct Arrays {
        Level level{};
        Block pieces;
        Block references;
        Block bins;
        Block needs;
        Block counters;
        Block items;
    };

    /// Numbers of a level's references, and of the tree's, have 32 bits; a little less, so that
    /// rounding up to whole chunks and blocks does not overflow.
    static constexpr std::uint64_t kMostReferences = UINT32_MAX - 0xffffU;

    void begin() {
        nodes_ = Block();
        references_ = Block();
        tree_ = {};
        tree_.next_pair = 1;  // the root and a sibling that is not used
        status_ = Status::done;
        message_.clear();
        const std::uint64_t n = input_.root.count;
        enlarge(nodes_, 0, 4 * n * sizeof(Node), "the nodes");
        enlarge(references_, 0, 3 * n * sizeof(std::uint32_t), "the leaves' references");
        point_at_tree();
    }

    /// @param given the level's references, if they are there
    Arrays make_level(std::uint32_t pieces, std::uint64_t references, std::uint32_t binned,
                      Block given = {}) {
        Arrays a;
        // About as many items as there are warps, but no smaller ones than the single kernel takes.
        const auto even = platform::ceil_div<std::uint64_t>(references, machine_.warps());
        a.level.count = pieces;
        a.level.chunk = static_cast<std::uint32_t>(std::max<std::uint64_t>(config_.chunk, even));
        a.pieces = pool_.request(pieces * sizeof(LevelPiece), "a level's nodes");
        a.references = given.size() > 0
                           ? std::move(given)
                           : pool_.request(references * sizeof(Reference), "a level's references");
        a.bins = pool_.request(binned * sizeof(Bins), "a level's bins");
        const std::uint64_t sums = pieces == 0 ? 0 : std::uint64_t{pieces} + 1;
        a.needs = pool_.request(sums * sizeof(Needs), "a level's counts");
        a.counters = pool_.request(pieces * sizeof(LevelCounters), "a level's counters");
        a.level.pieces = a.pieces.template as<LevelPiece>();
        a.level.references = a.references.template as<Reference>();
        a.level.bins = a.bins.template as<Bins>();
        a.level.needs = a.needs.template as<Needs>();
        a.level.counters = a.counters.template as<LevelCounters>();
        return a;
    }

    Arrays root() {
        const std::uint32_t n = input_.root.count;
        const std::uint32_t binned = n > problem_.exact_limit ? 1 : 0;
        const bool given = given_.size() > 0 || !input_.references.empty();
        Arrays a = make_level(1, n, binned, std::move(given_));
        if (!input_.references.empty()) {
            a.references.write(0, input_.references.data(), input_.references.size_bytes());
        }
        machine_.for_each(1, MakeRoot{input_.root, a.level});
        machine_.for_each_warp(binned, ClearBins{a.level});
        machine_.for_each_warp((n - 1) / a.level.chunk + 1,
                               FillRoot{problem_, input_.root, given, a.level});
        return a;
    }

    /// Decides all pieces of a level. @return what they need in all, copied from the machine.
    Needs decide(Arrays& a) {
        const std::uint32_t n = a.level.count;
        machine_.for_each_warp(n, Decide<typename Machine::Search>{problem_, a.level});
        machine_.exclusive_scan(pool_, a.level.needs, n + 1);
        Needs needs{};
        a.needs.read(n * sizeof(Needs), &needs, sizeof(needs));
        return needs;
    }

    /// Makes room in the tree for a level's nodes and leaves. A build that needs more than the
    /// configuration allows fails, and gets the room all the same.
    void make_room(const Needs& needs) {
        const std::uint64_t nodes = 2 * (std::uint64_t{tree_.next_pair} + needs.pairs);
        const std::uint64_t references = tree_.next_reference + needs.leaf_references;
        if (config_.max_nodes != 0 && nodes > config_.max_nodes) {
            fail(Status::nodes_exhausted,
                 "the node array holds " + std::to_string(config_.max_nodes) +
                     " nodes, but at least " + std::to_string(nodes) + " would have been needed");
        } else if (config_.max_references != 0 && references > config_.max_references) {
            fail(Status::references_exhausted, "the array of the leaves' references holds " +
                                                   std::to_string(config_.max_references) +
                                                   ", but at least " + std::to_string(references) +
                                                   " would have been needed");
        }
        if (nodes > Node::kLimit || std::max(references, needs.references) > kMostReferences) {
            throw std::invalid_argument(
                "the tree would have at least " + std::to_string(nodes) + " nodes and " +
                std::to_string(references) + " references, and one of its levels " +
                std::to_string(needs.references) + "; nodes must be at most 2^30, and references " +
                std::to_string(kMostReferences) + ": raise the leaf limit or lower the depth");
        }
        enlarge(nodes_, 2 * std::uint64_t{tree_.next_pair} * sizeof(Node), nodes * sizeof(Node),
                "the nodes");
        enlarge(references_, tree_.next_reference * sizeof(std::uint32_t),
                references * sizeof(std::uint32_t), "the leaves' references");
        point_at_tree();
    }

    void fail(Status status, std::string why) {
        status_ = status;
        message_ = std::move(why);
    }

    /// Makes a block at least `needed` bytes large; keeps the `used` first bytes.
    void enlarge(Block& block, std::uint64_t used, std::uint64_t needed, const char* what) {
        if (needed <= block.size()) return;
        Block larger = pool_.request(std::max(needed, block.size() + block.size() / 2), what);
        if (used > 0) machine_.copy(larger.data(), block.data(), used);
        block = std::move(larger);
    }

    void point_at_tree() {
        tree_.nodes = nodes_.template as<Node>();
        tree_.references = references_.template as<std::uint32_t>();
    }

    Machine& machine_;
    allocators::ArrayPool& pool_;
    BuildConfig config_;
    Block triangles_;
    Block nodes_;
    Block references_;
    LevelInput input_;
    Block given_;  ///< the root's references, until a build takes them
    const std::stop_token stop_;
    LevelProblem problem_{};
    LevelTree tree_{};
    Status status_ = Status::done;
    std::string message_;
};

/// Sets what a result says of the last build, which its status says the end of.
template <class Machine>
void finish_levels(const LevelDriver<Machine>& driver, const allocators::ArrayPool& pool,
                   BuildResult& result) {
    result.message = driver.message();
    if (result.status != Status::done) return;
    result.memory = driver.use();
    result.pool_bytes = pool.statistics().peak_slab_bytes;
    result.tree = driver.tree();
}

/// Builds a scene's tree on a machine. See level_builder.h.
template <class Machine>
BuildResult drive_levels(Machine& machine, const scenes::Scene& scene, const BuildConfig& config,
                         const RunConfig& run) {
    validate(config);
    BuildResult result;
    allocators::ArrayPool own(machine.place());
    allocators::ArrayPool& pool = run.array_pool != nullptr ? *run.array_pool : own;
    pool.reset_peak();
    std::optional<LevelDriver<Machine>> driver;
    result.upload_ms = platform::run_timed([&] {
        const float scale = normalisation(scene);
        const std::vector<Triangle> triangles = gather(scene, scale);
        const Box bounds{scene.bounds.lo * scale, scene.bounds.hi * scale};
        driver.emplace(
            machine, pool,
            LevelInput{.rules = tree_rules(config, bounds, triangles.size()),
                       .root = root_node(bounds, static_cast<std::uint32_t>(triangles.size())),
                       .triangles = triangles,
                       .references = {},
                       .normalisation = scale,
                       .budget = reference_budget(config, triangles.size())},
            config, run.stop);
    });
    result.root_bytes = root_array_bytes(scene.triangles.size());
    DepthSearch depth(driver->max_depth());
    do {
        result.build_ms = machine.time([&] { result.status = driver->build(depth.depth()); });
    } while ((result.status == Status::done || result.status == Status::over_budget) &&
             !depth.settle(result.status == Status::over_budget));
    if (depth.limited()) result.depth_limit = depth.depth();
    finish_levels(*driver, pool, result);
    return result;
}

/// Builds a node, and all below it, on a machine. See level_builder.h.
template <class Machine>
BuildResult drive_levels(Machine& machine, const LevelInput& input, const BuildConfig& config,
                         const RunConfig& run) {
    BuildResult result;
    allocators::ArrayPool own(machine.place());
    allocators::ArrayPool& pool = run.array_pool != nullptr ? *run.array_pool : own;
    pool.reset_peak();
    std::optional<LevelDriver<Machine>> driver;
    result.upload_ms =
        platform::run_timed([&] { driver.emplace(machine, pool, input, config, run.stop); });
    result.root_bytes = root_array_bytes(input.root.count);
    result.build_ms = machine.time([&] { result.status = driver->build(driver->max_depth()); });
    finish_levels(*driver, pool, result);
    return result;
}

}  // namespace heapwood::kdtree
