#include "kdtree/build_driver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace heapwood::kdtree {

namespace {

/// What a warp may lose of the last blocks it reserves (and of references a few at the end of each
/// block); another schedule loses more than this one.
constexpr std::uint64_t kLostNodes = 64;
constexpr std::uint64_t kLostReferences = 256;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A power of two that brings the largest coordinate below 2, so that areas neither overflow nor
/// vanish; multiplying by it is exact.
float area_scale(const Box& bounds) {
    float largest = 0;
    for (const glm::vec3& v : {bounds.lo, bounds.hi}) {
        largest = std::max({largest, std::abs(v.x), std::abs(v.y), std::abs(v.z)});
    }
    if (largest == 0) return 1;
    int exponent = 0;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0F, std::clamp(1 - exponent, -126, 127));
}

/// What the scene is multiplied by before the build, and its planes are divided by afterwards, so
/// that no error bound of the builder depends on its size. 1 for the rare scene that spans so many
/// magnitudes that this would change its smallest coordinates.
float normalisation(const scenes::Scene& scene) {
    const float scale = area_scale({scene.bounds.lo, scene.bounds.hi});
    const bool exact =
        std::all_of(scene.positions.begin(), scene.positions.end(),
                    [&](const glm::vec3& p) { return p * scale * (1 / scale) == p; });
    return exact ? scale : 1;
}

std::vector<Triangle> gather(const scenes::Scene& scene, float scale) {
    std::vector<Triangle> triangles(scene.triangles.size());
    std::transform(scene.triangles.begin(), scene.triangles.end(), triangles.begin(),
                   [&](const glm::uvec3& t) {
                       return Triangle{scene.positions[t.x] * scale, 0,
                                       scene.positions[t.y] * scale, 0,
                                       scene.positions[t.z] * scale, 0};
                   });
    return triangles;
}

CostModel cost_model(const BuildConfig& config, float scale) {
    const bool weighs_traversal = config.empty_rule != EmptyRule::tests;
    return {.traversal = config.traversal_cost,
            .intersection = config.intersection_cost,
            .empty_traversal = config.traversal_cost * (weighs_traversal ? config.empty_bonus : 1),
            .empty_intersection = config.intersection_cost * config.empty_bonus,
            .empty_must_pay = config.empty_rule == EmptyRule::pays,
            .scale = scale};
}

std::string bytes_text(std::uint64_t bytes) {
    const double mebibytes = static_cast<double>(bytes) / (1 << 20);
    std::string text = std::to_string(bytes) + " bytes";
    if (mebibytes >= 1) {
        text += " (" + std::to_string(std::llround(mebibytes)) + " MiB)";
    }
    return text;
}

}  // namespace

std::uint64_t root_array_bytes(std::uint64_t triangles) {
    return triangles * sizeof(Reference);
}

BuildMemory::BuildMemory(allocators::Place place, const scenes::Scene& scene,
                         const BuildConfig& config, std::uint32_t warps)
    : place_(place),
      scene_bounds_{scene.bounds.lo, scene.bounds.hi},
      normalisation_(normalisation(scene)) {
    const std::uint64_t n = scene.triangles.size();
    if (n == 0 || n >= Node::kLimit) {
        throw std::invalid_argument("a scene must have between 1 and 2^30 - 1 triangles, not " +
                                    std::to_string(n));
    }
    // Warps reserve nodes and references in blocks; what is left of their last ones is lost.
    slack_warps_ = std::min<std::uint64_t>(warps, n);
    max_nodes_ = config.max_nodes;
    max_references_ = config.max_references;

    const std::vector<Triangle> triangles = gather(scene, normalisation_);
    triangles_ = allocators::Heap(place, n * sizeof(Triangle));
    triangles_.write(0, triangles.data(), n * sizeof(Triangle));

    problem_.triangles = triangles_.as<Triangle>();
    problem_.count = static_cast<std::uint32_t>(n);
    problem_.bounds = {scene_bounds_.lo * normalisation_, scene_bounds_.hi * normalisation_};
    problem_.model = cost_model(config, area_scale(problem_.bounds));
    problem_.grid = BinGrid::of(config.planes);
    problem_.leaf_limit = config.leaf_limit;
    problem_.leaf_measure =
        config.leaf_area > 0 ? config.leaf_area * half_area(problem_.bounds, problem_.model.scale) /
                                   static_cast<float>(n)
                             : kInfinity;
    problem_.exact_limit = config.exact_limit;
    problem_.snap_limit = config.snap_limit;
    problem_.large_limit = config.large_limit;
    problem_.chunk = config.chunk;
    problem_.warps = warps;
    problem_.max_depth = max_depth(config, n);
    problem_.bad_ratio = config.bad_split_ratio;
    problem_.hopeless_ratio = config.hopeless_ratio > 0 ? config.hopeless_ratio : kInfinity;
    problem_.bad_limit = max_bad_splits(config, problem_.max_depth);
    problem_.tight_cuts = config.tight_cuts;
    problem_.clip = config.clip;

    // Every level holds about 1.3 n references at its widest; large nodes thus number at most a
    // few times n / large_limit. Past the capacity a node is built by one warp.
    problem_.job_capacity =
        static_cast<std::uint32_t>(64 + 6 * n / std::max<std::uint32_t>(config.large_limit, 64));
    jobs_ = allocators::Heap(place, problem_.job_capacity * sizeof(Job));
    problem_.jobs = jobs_.as<Job>();
    stacks_ = allocators::Heap(place, std::uint64_t{warps} * kStackSize * sizeof(Task));
    problem_.stacks = stacks_.as<Task>();
    problem_.slot_bits =
        static_cast<std::uint32_t>(std::bit_width(warps * (TaskQueue<Task>::kMostGiven + 1)));
    slots_ = allocators::Heap(place, sizeof(TaskSlot<Task>) << problem_.slot_bits);
    problem_.slots = slots_.as<TaskSlot<Task>>();
    state_ = allocators::Heap(place, sizeof(BuildState));
    problem_.state = state_.as<BuildState>();

    make_outputs(
        config.max_nodes != 0 ? config.max_nodes : 8 * n + kLostNodes * slack_warps_ + 1024,
        config.max_references != 0 ? config.max_references
                                   : 8 * n + kLostReferences * slack_warps_ + 1024);
}

void BuildMemory::make_outputs(std::uint64_t nodes, std::uint64_t references) {
    problem_.node_capacity = std::min<std::uint64_t>(nodes, Node::kLimit);
    problem_.reference_capacity = std::min<std::uint64_t>(references, UINT32_MAX);
    nodes_ = allocators::Heap();
    nodes_ = allocators::Heap(place_, problem_.node_capacity * sizeof(Node));
    problem_.nodes = nodes_.as<Node>();
    references_ = allocators::Heap();
    references_ = allocators::Heap(place_, problem_.reference_capacity * sizeof(std::uint32_t));
    problem_.references = references_.as<std::uint32_t>();
}

void BuildMemory::reset() {
    state_.fill(0, 0, state_.size());
    slots_.fill(0, 0, slots_.size());
}

BuildState BuildMemory::state() const {
    BuildState state;
    state_.read(0, &state, sizeof(state));
    return state;
}

Tree BuildMemory::tree() const {
    const BuildState s = state();
    // A warp's last block may reach past the end of an array that the used part just fits.
    std::vector<Node> nodes(std::min(2 * s.nodes, problem_.node_capacity));
    std::vector<std::uint32_t> references(std::min(s.references, problem_.reference_capacity));
    nodes_.read(0, nodes.data(), nodes.size() * sizeof(Node));
    references_.read(0, references.data(), references.size() * sizeof(std::uint32_t));
    for (Node& node : nodes) {
        if (!node.is_leaf()) {
            node = Node::inner(node.axis(), node.split() / normalisation_, node.child());
        }
    }
    return canonical(nodes, references, scene_bounds_);
}

void BuildMemory::enlarge(const BuildState& s) {
    if (2 * s.nodes > Node::kLimit || s.references > UINT32_MAX) {
        throw std::invalid_argument("the tree would have " + std::to_string(2 * s.nodes) +
                                    " nodes and " + std::to_string(s.references) +
                                    " references, more than 2^30 and 2^32 - 1: raise the leaf "
                                    "limit or lower the depth");
    }
    // What the user has limited stays as it is: if that was short as well, the next run says so.
    make_outputs(
        max_nodes_ != 0 ? problem_.node_capacity
                        : std::max(problem_.node_capacity, 2 * s.nodes + kLostNodes * slack_warps_),
        max_references_ != 0
            ? problem_.reference_capacity
            : std::max(problem_.reference_capacity, s.references + kLostReferences * slack_warps_));
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
