#include "kdtree/single/build_memory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kdtree/depth_search.h"
#include "kdtree/single/build_input.h"
#include "kdtree/tree/canonical_copy.h"

namespace heapwood::kdtree {

namespace {

/// What a warp may lose of the last blocks it reserves (and of references a few at the end of each
/// block); another schedule loses more than this one.
constexpr std::uint64_t kLostNodes = 64;
constexpr std::uint64_t kLostReferences = 256;

std::string bytes_text(std::uint64_t bytes) {
    const double mebibytes = static_cast<double>(bytes) / (1 << 20);
    std::string text = std::to_string(bytes) + " bytes";
    if (mebibytes >= 1) text += " (" + std::to_string(std::llround(mebibytes)) + " MiB)";
    return text;
}

}  // namespace

std::uint64_t root_array_bytes(std::uint64_t triangles) {
    return triangles * sizeof(Reference);
}

std::uint64_t pool_bytes_for(std::uint64_t triangles) {
    constexpr std::uint64_t kTimes = 32;
    constexpr std::uint64_t kSmall = 1 << 20;
    return kSmall + kTimes * root_array_bytes(triangles);
}

BuildMemory::BuildMemory(allocators::ArrayPool& pool, const BuildConfig& config,
                         std::uint32_t warps, std::uint64_t triangles, std::uint32_t lanes)
    : pool_(pool), config_(config), lanes_(lanes) {
    require_triangles(triangles);
    problem_.warps = warps;
    problem_.slot_bits =
        static_cast<std::uint32_t>(std::bit_width(warps * (TaskQueue<Piece>::kMostGiven + 1)));
    reserve(triangles);
}

BuildMemory::BuildMemory(allocators::ArrayPool& pool, const scenes::Scene& scene,
                         const BuildConfig& config, std::uint32_t warps, std::uint32_t lanes)
    : BuildMemory(pool, config, warps, scene.triangles.size(), lanes) {
    load(scene);
}

std::uint64_t BuildMemory::slack_warps(std::uint64_t triangles) const {
    // Warps reserve nodes and references in blocks; what is left of their last ones is lost.
    return std::min<std::uint64_t>(problem_.warps, triangles);
}

void BuildMemory::set_division(std::uint64_t triangles) {
    // Measured on an H100 (kdtree/single/README.md).
    const std::uint64_t each = triangles / problem_.warps;
    const bool gpu = pool_.place() != allocators::Place::host;
    const std::uint32_t limit = !gpu ? 4096 : each < 192 ? 64 : each < 1024 ? 128 : 192;
    const std::uint32_t chunk = !gpu ? 4096 : each < 1024 ? 256 : 512;
    problem_.large_limit = config_.large_limit != 0 ? config_.large_limit : limit;
    problem_.chunk = config_.chunk != 0 ? config_.chunk : chunk;
}

std::uint32_t BuildMemory::tiny_limit(std::uint64_t triangles) const {
    constexpr std::uint32_t kFew = 8;
    constexpr std::uint32_t kMany = kSegmentMost;
    constexpr std::uint64_t kLargeScene = 512;  // triangles for each warp
    if (lanes_ == 1) return 0;
    return triangles > kLargeScene * problem_.warps ? kMany : kFew;
}

bool BuildMemory::reserve(std::uint64_t n) {
    if (n <= capacity_) return false;
    require_triangles(n);
    set_division(n);
    capacity_ = 0;
    for (Block* block :
         {&triangles_, &large_nodes_, &work_, &pieces_, &stacks_, &tiny_stacks_, &tiny_pieces_,
          &arenas_, &profiles_, &slots_, &state_, &nodes_, &references_}) {
        *block = Block();
    }
    // Scenes have a large node for each 0.4 to 0.5 times large_limit triangles. A node has two
    // children to go on with, and a level of 20 to 30 has about as many chunks as there are warps,
    // or as its references fill. Past that a node is built by one warp.
    const auto large = std::max(
        problem_.large_capacity,
        static_cast<std::uint32_t>(64 + 3 * n / std::max<std::uint32_t>(problem_.large_limit, 64)));
    const auto work = std::max(
        problem_.work_capacity,
        static_cast<std::uint32_t>(3 * large + 40 * problem_.warps + 30 * n / problem_.chunk));
    const std::uint64_t nodes =
        config_.max_nodes != 0
            ? config_.max_nodes
            : std::max(problem_.node_capacity, 8 * n + kLostNodes * slack_warps(n) + 1024);
    const std::uint64_t references =
        config_.max_references != 0 ? config_.max_references
                                    : std::max(problem_.reference_capacity,
                                               8 * n + kLostReferences * slack_warps(n) + 1024);

    const std::uint64_t warps = problem_.warps;
    const std::uint64_t triangle_bytes = n * sizeof(Triangle);
    const std::uint64_t large_bytes =
        large * (sizeof(LargeNode) + sizeof(Piece)) + sizeof(Piece) + work_bytes(large, work);
    const std::uint64_t stack_bytes = warps * kStackSize * sizeof(Piece);
    // Scenes leave 0.02 to 0.4 tiny nodes for each triangle. Past that the second stage makes them.
    tiny_room_ = lanes_ > 1 ? static_cast<std::uint32_t>(n / 2 + 1) : 0;
    const std::uint64_t tiny_list_bytes = tiny_room_ * std::uint64_t{sizeof(TinyPiece)};
    const std::uint64_t tiny_stack_bytes =
        lanes_ > 1 ? warps * kTinyStackSize * sizeof(TinyPiece) : 0;
    const std::uint64_t arena_bytes =
        config_.small_arrays ? 0 : warps * kArenaSize * sizeof(Reference);
    const std::uint64_t slot_bytes = sizeof(TaskSlot<Piece>) << problem_.slot_bits;
    const std::uint64_t profile_bytes = kProfiling ? warps * sizeof(PhaseProfile) : 0;
    // All in one slab, rather than in slabs that double. Where that cannot be had, perhaps the
    // arrays can, one by one; the one that cannot will be named.
    constexpr std::uint64_t kArrays = 13;
    pool_.reserve(triangle_bytes + large_bytes + stack_bytes + tiny_stack_bytes + tiny_list_bytes +
                  arena_bytes + slot_bytes + profile_bytes + sizeof(BuildState) +
                  nodes * sizeof(Node) + references * sizeof(std::uint32_t) +
                  kArrays * allocators::ArrayPool::kChunk);
    triangles_ = pool_.request(triangle_bytes, "the triangles");
    problem_.triangles = triangles_.as<Triangle>();
    make_large_arrays(large, work);
    stacks_ = pool_.request(stack_bytes, "the warps' stacks");
    problem_.stacks = stacks_.as<Piece>();
    if (lanes_ > 1) {
        tiny_stacks_ = pool_.request(tiny_stack_bytes, "the warps' stacks of tiny nodes");
        problem_.tiny_stacks = tiny_stacks_.as<TinyPiece>();
        tiny_pieces_ = pool_.request(tiny_list_bytes, "the tiny nodes");
        problem_.tiny_pieces = tiny_pieces_.as<TinyPiece>();
    }
    if (arena_bytes > 0) {
        arenas_ = pool_.request(arena_bytes, "the warps' own small arrays");
        problem_.arenas = arenas_.as<Reference>();
    }
    if (profile_bytes > 0) {
        profiles_ = pool_.request(profile_bytes, "the profile");
        problem_.profiles = profiles_.as<PhaseProfile>();
    }
    slots_ = pool_.request(slot_bytes, "the queue's slots");
    problem_.slots = slots_.as<TaskSlot<Piece>>();
    state_ = pool_.request(sizeof(BuildState), "the build's counters");
    problem_.state = state_.as<BuildState>();
    make_outputs(nodes, references);
    capacity_ = n;
    return true;
}

void BuildMemory::load(const scenes::Scene& scene) {
    const std::uint64_t n = scene.triangles.size();
    expect(n, scene.bounds, normalisation(scene));
    if (pool_.place() == allocators::Place::host) {
        for (std::uint64_t i = 0; i < n; ++i) {
            triangles()[i] = triangle_of(scene, i, normalisation_);
        }
    } else {
        triangles_.write(0, gather(scene, normalisation_).data(), n * sizeof(Triangle));
    }
}

void BuildMemory::expect(std::uint64_t n, const scenes::Bounds& bounds, float scale) {
    require_triangles(n);
    scene_bounds_ = {bounds.lo, bounds.hi};
    normalisation_ = scale;
    problem_.count = static_cast<std::uint32_t>(n);
    problem_.bounds = {bounds.lo * scale, bounds.hi * scale};
    static_cast<TreeRules&>(problem_) = tree_rules(config_, problem_.bounds, n);
    set_division(n);
    limit_tiny_nodes(1);
    // Of any two blocks of references that a warp reserves one after the other as much is used as
    // one holds, so of all but its last ones at least half.
    const std::uint64_t budget = reference_budget(config_, n);
    problem_.most_references =
        budget > UINT32_MAX ? UINT64_MAX : 2 * (budget + kLostReferences * problem_.warps);
}

void BuildMemory::limit_tiny_nodes(double share) {
    // Fewer nodes than this for each warp do not pay for a stage of their own.
    constexpr double kFewest = 2;
    const double nodes = share * tiny_room_;
    const bool any = share >= 1 || nodes >= kFewest * problem_.warps;
    problem_.tiny_limit = any ? std::min(tiny_limit(problem_.count), problem_.exact_limit) : 0;
    problem_.tiny_capacity = static_cast<std::uint32_t>(nodes);
    problem_.tiny_block = std::max(1U, static_cast<std::uint32_t>(std::lround(share * kTinyBlock)));
}

std::uint64_t BuildMemory::work_bytes(std::uint32_t nodes, std::uint32_t items) const {
    const std::uint64_t pieces = nodes + std::uint64_t{1};
    return (items + pieces + 2 * std::uint64_t{problem_.warps}) * sizeof(std::uint64_t);
}

void BuildMemory::make_large_arrays(std::uint32_t nodes, std::uint32_t items) {
    // All are had before any is given up.
    Block large_nodes = pool_.request(nodes * sizeof(LargeNode), "the large nodes");
    Block work = pool_.request(work_bytes(nodes, items), "the work on them");
    Block pieces =
        pool_.request((nodes + std::uint64_t{1}) * sizeof(Piece), "the nodes below them");
    large_nodes_ = std::move(large_nodes);
    work_ = std::move(work);
    pieces_ = std::move(pieces);
    problem_.large_nodes = large_nodes_.as<LargeNode>();
    problem_.large_capacity = nodes;
    problem_.work = work_.as<std::uint64_t>();
    problem_.work_capacity = items;
    problem_.piece_list = problem_.work + items + problem_.warps;
    problem_.pieces = pieces_.as<Piece>();
}

void BuildMemory::make_outputs(std::uint64_t nodes, std::uint64_t references) {
    nodes = std::min<std::uint64_t>(nodes, Node::kLimit);
    references = std::min<std::uint64_t>(references, UINT32_MAX);
    nodes_ = Block();
    references_ = Block();
    pool_.reserve(nodes * sizeof(Node) + references * sizeof(std::uint32_t) +
                  allocators::ArrayPool::kChunk);
    nodes_ = pool_.request(nodes * sizeof(Node), "the nodes");
    references_ = pool_.request(references * sizeof(std::uint32_t), "the leaves' references");
    problem_.nodes = nodes_.as<Node>();
    problem_.node_capacity = nodes;
    problem_.references = references_.as<std::uint32_t>();
    problem_.reference_capacity = references;
}

void BuildMemory::reset() {
    if (kProfiling) profiles_.fill(0, 0, profiles_.size());
    const BuildState start{};
    state_.write(0, &start, sizeof(start));
    slots_.fill(0, 0, slots_.size());
    work_.fill(0, 0, work_.size());
}

BuildState BuildMemory::state() const {
    BuildState state;
    state_.read(0, &state, sizeof(state));
    return state;
}

std::optional<BuildProfile> BuildMemory::profile() const {
    if (!kProfiling) return std::nullopt;
    constexpr double kNanoseconds = 1e6;  // in a millisecond
    constexpr double kInterval = std::uint64_t{1} << PhaseProfile::kIntervalBits;
    std::vector<PhaseProfile> warps(problem_.warps);
    profiles_.read(0, warps.data(), warps.size() * sizeof(PhaseProfile));
    BuildProfile sum;
    sum.interval_ms = kInterval / kNanoseconds;
    sum.busy_warps.resize(PhaseProfile::kIntervals);
    for (const PhaseProfile& warp : warps) {
        for (unsigned i = 0; i < kPhases; ++i) {
            sum.warp_ms[i] += static_cast<double>(warp.phases[i]) / kNanoseconds;
        }
        for (unsigned i = 0; i < sum.divided.size(); ++i) sum.divided[i] += warp.divided[i];
        for (unsigned i = 0; i < PhaseProfile::kIntervals; ++i) {
            sum.busy_warps[i] += static_cast<double>(warp.busy[i]) / kInterval;
        }
    }
    while (!sum.busy_warps.empty() && sum.busy_warps.back() == 0) sum.busy_warps.pop_back();
    return sum;
}

Tree BuildMemory::tree() const {
    // Warps reserve places in blocks, and leave the rest of a block unwritten, all over both
    // arrays.
    const TreeInPlace made = tree_in_place(state());
    return canonical_copy<Block>({nodes_, made.node_end, references_, made.reference_end,
                                  scene_bounds_, normalisation_, pool_.place()});
}

TreeInPlace BuildMemory::tree_in_flight() const {
    return {.nodes = problem_.nodes,
            .node_end = problem_.node_capacity,
            .references = problem_.references,
            .reference_end = problem_.reference_capacity,
            .triangles = problem_.triangles,
            .triangle_count = problem_.count,
            .bounds = scene_bounds_,
            .scale = normalisation_,
            .state = problem_.state};
}

TreeInPlace BuildMemory::tree_in_place(const BuildState& s) const {
    TreeInPlace made = tree_in_flight();
    made.state = nullptr;
    // A warp's last block may reach past the end of an array that the used part just fits.
    made.node_end = std::min(2 * s.nodes, problem_.node_capacity);
    made.reference_end = std::min(s.references, problem_.reference_capacity);
    return made;
}

void BuildMemory::enlarge(const BuildState& s, Status short_of) {
    if (2 * s.nodes > Node::kLimit || s.references > UINT32_MAX) {
        throw std::invalid_argument("the tree would have " + std::to_string(2 * s.nodes) +
                                    " nodes and " + std::to_string(s.references) +
                                    " references, more than 2^30 and 2^32 - 1: raise the leaf "
                                    "limit or lower the depth");
    }
    const std::uint64_t warps = slack_warps(problem_.count);
    const std::uint64_t capacity = std::exchange(capacity_, 0);
    // What the user has limited stays as it is where something else was short: if that was short as
    // well, the next run says so.
    const bool nodes = config_.max_nodes == 0 || short_of == Status::nodes_exhausted;
    const bool references = config_.max_references == 0 || short_of == Status::references_exhausted;
    make_outputs(nodes ? std::max(problem_.node_capacity, 2 * s.nodes + kLostNodes * warps)
                       : problem_.node_capacity,
                 references
                     ? std::max(problem_.reference_capacity, s.references + kLostReferences * warps)
                     : problem_.reference_capacity);
    capacity_ = capacity;
}

bool BuildMemory::estimates(Status short_of) const {
    return (short_of == Status::nodes_exhausted ? config_.max_nodes : config_.max_references) == 0;
}

std::optional<Status> BuildMemory::restore_limits(const BuildState& s) {
    const auto within = [](std::uint64_t limit, std::uint64_t capacity) {
        return limit == 0 ? capacity : std::min(limit, capacity);
    };
    const std::uint64_t nodes = within(config_.max_nodes, problem_.node_capacity);
    const std::uint64_t references = within(config_.max_references, problem_.reference_capacity);
    const bool too_many_nodes = 2 * s.nodes > nodes;
    const bool lifted = nodes < problem_.node_capacity || references < problem_.reference_capacity;
    if (!lifted || (!too_many_nodes && s.references <= references)) return {};
    const std::uint64_t capacity = std::exchange(capacity_, 0);
    make_outputs(nodes, references);
    capacity_ = capacity;
    return too_many_nodes ? Status::nodes_exhausted : Status::references_exhausted;
}

bool BuildMemory::enlarge_large_arrays(const BuildState& s) {
    const auto nodes = static_cast<std::uint32_t>(s.large >> 32);
    const auto items = static_cast<std::uint32_t>(s.large);
    if (nodes <= problem_.large_capacity && items <= problem_.work_capacity) return false;
    // Those that were not made large had no children that could be counted.
    const auto more = [](std::uint32_t needed, std::uint32_t had) {
        return needed <= had ? had : needed + needed / 8;
    };
    try {
        make_large_arrays(more(nodes, problem_.large_capacity),
                          more(items, problem_.work_capacity));
    } catch (const allocators::BufferError&) {
        return false;
    }
    return true;
}

MemoryUse BuildMemory::use() const {
    const allocators::ArrayPool::Statistics s = pool_.statistics();
    MemoryUse use;
    use.triangles = triangles_.size();
    use.nodes = nodes_.size();
    use.references = references_.size();
    use.large_nodes = large_nodes_.size() + work_.size() + pieces_.size();
    use.stacks = stacks_.size() + arenas_.size() + tiny_stacks_.size() + tiny_pieces_.size();
    use.queue = slots_.size() + state_.size();
    use.spare = s.peak_slab_bytes - use.total();
    return use;
}

std::string explain(Status status, const Problem& problem, const BuildState& state,
                    std::uint64_t pool_bytes) {
    const std::uint64_t warps = std::min(problem.warps, problem.count);
    switch (status) {
        case Status::done:
            return {};
        case Status::pool_exhausted:
            return "the pool of " + bytes_text(pool_bytes) + " has no room for a request of " +
                   bytes_text(state.failed_bytes);
        case Status::over_budget:
            return "the tree would have more references than its budget";
        case Status::interrupted:
            return "the build was interrupted";
        case Status::nodes_exhausted:
            return "the node array holds " + std::to_string(problem.node_capacity) +
                   " nodes, but up to " + std::to_string(2 * state.nodes + kLostNodes * warps) +
                   " would have been needed";
        case Status::references_exhausted:
            return "the array of the leaves' references holds " +
                   std::to_string(problem.reference_capacity) + ", but about " +
                   std::to_string(state.references + kLostReferences * warps) +
                   " would have been needed";
    }
    return {};
}

}  // namespace heapwood::kdtree
