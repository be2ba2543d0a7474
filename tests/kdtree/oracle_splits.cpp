#include "tests/kdtree/oracle_splits.h"

#include <algorithm>
#include <tuple>

namespace heapwood::kdtree::tests::oracle {
namespace {

bool equal(const Box& a, const Box& b) {
    return a.lo == b.lo && a.hi == b.hi;
}

/// Proportional to the chance that a ray meets the box: its area; or, in a root cell without
/// area, its length.
double measure(const Box& box, bool by_length) {
    const double x = double{box.hi.x} - double{box.lo.x};
    const double y = double{box.hi.y} - double{box.lo.y};
    const double z = double{box.hi.z} - double{box.lo.z};
    return by_length ? x + y + z : x * y + y * z + z * x;
}

/// Sorts planes by preference among equal costs, and removes repeated ones.
void sort_unique(std::vector<Split>& splits) {
    const auto key = [](const Split& s) { return std::tuple(s.axis, s.position, s.planar_left); };
    const auto before = [&](const Split& a, const Split& b) { return key(a) < key(b); };
    const auto same = [&](const Split& a, const Split& b) { return key(a) == key(b); };
    std::sort(splits.begin(), splits.end(), before);
    splits.erase(std::unique(splits.begin(), splits.end(), same), splits.end());
}

}  // namespace

Children divide(const Box& cell, const References& references, const Split& split) {
    const auto [axis, s, planar_left] = split;
    Children children{cell, cell, {}, {}};
    set_component(children.left_cell.hi, axis, s);
    set_component(children.right_cell.lo, axis, s);
    for (const Reference& reference : references) {
        const float lo = component(reference.box.lo, axis);
        const float hi = component(reference.box.hi, axis);
        const bool planar = lo == s && hi == s;
        if (lo < s || (planar && planar_left)) {
            children.left.push_back(reference);
            set_component(children.left.back().box.hi, axis, std::min(hi, s));
        }
        if (hi > s || (planar && !planar_left)) {
            children.right.push_back(reference);
            set_component(children.right.back().box.lo, axis, std::max(lo, s));
        }
    }
    return children;
}

double leaf_cost(const References& references, const BuildConfig& config) {
    return double{config.intersection_cost} * static_cast<double>(references.size());
}

std::optional<double> cost(const Box& cell, const References& references, const Split& split,
                           const BuildConfig& config, double tolerance) {
    const Children children = divide(cell, references, split);
    const bool none_left = children.left.empty();
    const bool none_right = children.right.empty();
    if ((none_left && equal(children.right_cell, cell)) ||
        (none_right && equal(children.left_cell, cell))) {
        return {};
    }
    const bool by_length = !(measure(cell, false) > 0);
    const double tests =
        measure(children.left_cell, by_length) * static_cast<double>(children.left.size()) +
        measure(children.right_cell, by_length) * static_cast<double>(children.right.size());
    const double test_cost = double{config.intersection_cost} * tests / measure(cell, by_length);
    const double sum = double{config.traversal_cost} + test_cost;
    if (!none_left && !none_right) return sum;
    const double bonus = config.empty_bonus;
    switch (config.empty_rule) {
        case EmptyRule::pays:
            if (!(sum * (1 + tolerance) < leaf_cost(references, config))) return {};
            return bonus * sum;
        case EmptyRule::whole:
            return bonus * sum;
        case EmptyRule::tests:
            return double{config.traversal_cost} + bonus * test_cost;
    }
    return {};
}

std::vector<Split> ends(const References& references, unsigned axis) {
    std::vector<Split> splits;
    for (const Reference& reference : references) {
        splits.push_back({axis, component(reference.box.lo, axis), false});
        splits.push_back({axis, component(reference.box.hi, axis), true});
    }
    return splits;
}

std::vector<Split> all_planes(const Box& cell, const References& references) {
    std::vector<Split> splits;
    for (unsigned axis = 0; axis < 3; ++axis) {
        if (!(component(cell.lo, axis) < component(cell.hi, axis))) continue;
        const std::vector<Split> here = ends(references, axis);
        splits.insert(splits.end(), here.begin(), here.end());
    }
    sort_unique(splits);
    return splits;
}

Box around(const References& references) {
    Box box = references.front().box;
    for (const Reference& reference : references) {
        for (int k = 0; k < 3; ++k) {
            box.lo[k] = std::min(box.lo[k], reference.box.lo[k]);
            box.hi[k] = std::max(box.hi[k], reference.box.hi[k]);
        }
    }
    return box;
}

std::vector<Split> bin_planes(const Box& cell, const Box& frame, const References& references,
                              const BuildConfig& config) {
    std::vector<Split> splits;
    const Box tight = around(references);
    for (unsigned axis = 0; axis < 3; ++axis) {
        const float lo = component(cell.lo, axis);
        const float hi = component(cell.hi, axis);
        const std::uint32_t planes = (config.planes + 2 - axis) / 3;
        const float share = 1 / static_cast<float>(planes + 1);
        const float from = component(frame.lo, axis);
        const float step = component(frame.hi, axis) * share - from * share;
        for (std::uint32_t i = 1; i <= planes; ++i) {
            const float position = from + static_cast<float>(i) * step;
            if (lo < position && position < hi) splits.push_back({axis, position, false});
        }
        if (!config.tight_cuts) continue;
        if (lo < component(tight.lo, axis)) {
            splits.push_back({axis, component(tight.lo, axis), false});
        }
        if (component(tight.hi, axis) < hi) {
            splits.push_back({axis, component(tight.hi, axis), true});
        }
    }
    sort_unique(splits);
    return splits;
}

std::optional<Choice> best(const std::vector<Split>& splits, const Box& cell,
                           const References& references, const BuildConfig& config,
                           double tolerance) {
    std::optional<Choice> result;
    for (const Split& split : splits) {
        const std::optional<double> c = cost(cell, references, split, config, tolerance);
        if (c && (!result || *c < result->cost)) result = Choice{split, *c};
    }
    return result;
}

References all_references(const scenes::Scene& scene) {
    References references;
    for (std::uint32_t i = 0; i < scene.triangles.size(); ++i) {
        const glm::uvec3 t = scene.triangles[i];
        const glm::vec3& a = scene.positions[t.x];
        Box box{a, a};
        for (const glm::vec3& corner : {scene.positions[t.y], scene.positions[t.z]}) {
            for (int k = 0; k < 3; ++k) {
                box.lo[k] = std::min(box.lo[k], corner[k]);
                box.hi[k] = std::max(box.hi[k], corner[k]);
            }
        }
        references.push_back({i, box});
    }
    return references;
}

LeafRules::LeafRules(const scenes::Scene& scene, const BuildConfig& config)
    : config_(config),
      depth_limit_(max_depth(config, scene.triangles.size())),
      bad_limit_(static_cast<std::uint32_t>(std::min(
          double{config.bad_splits} + double{config.bad_splits_per_level} * depth_limit_ + 1e-6,
          double{kMaxDepth}))),
      area_(double{config.leaf_area} * measure({scene.bounds.lo, scene.bounds.hi}, false) /
            static_cast<double>(scene.triangles.size())) {}

bool LeafRules::at_once(const Box& cell, const References& references, std::uint32_t depth,
                        double tolerance) const {
    if (depth >= depth_limit_) return true;
    if (references.size() > config_.leaf_limit) return false;
    const double contribution = static_cast<double>(references.size()) * measure(cell, false);
    return config_.leaf_area == 0 || contribution <= area_ * (1 + tolerance);
}

bool LeafRules::bad(const References& references, double cost) const {
    return !(cost < leaf_cost(references, config_) * double{config_.bad_split_ratio});
}

bool LeafRules::accepted(const References& references, double cost, std::uint32_t bad_above) const {
    if (!bad(references, cost)) return true;
    const bool hopeless = config_.hopeless_ratio > 0 && references.size() < 16 &&
                          cost > leaf_cost(references, config_) * double{config_.hopeless_ratio};
    return bad_above < bad_limit_ && !hopeless;
}

}  // namespace heapwood::kdtree::tests::oracle
