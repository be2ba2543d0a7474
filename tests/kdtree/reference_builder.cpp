#include "tests/kdtree/reference_builder.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "kdtree/tree/walk.h"

namespace heapwood::kdtree::tests {
namespace {

/// How far a cost in single precision may be off.
constexpr double kTolerance = 1e-5;

/// A triangle, and the part of its box that lies in the node's cell.
struct Reference {
    std::uint32_t triangle;
    Box box;
};

using References = std::vector<Reference>;

/// A plane, and where the references that lie in it go.
struct Split {
    unsigned axis;
    float position;
    bool planar_left;
};

struct Children {
    Box left_cell;
    Box right_cell;
    References left;
    References right;
};

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

/// The cost of a split; nothing if it would repeat the node in one child and leave the other empty,
/// or only cut off empty space and not pay, though it has to. Costs within a relative `tolerance`
/// of the limit pay if it is negative and do not if it is positive.
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

/// Sorts planes by preference among equal costs, and removes repeated ones.
void sort_unique(std::vector<Split>& splits) {
    const auto key = [](const Split& s) { return std::tuple(s.axis, s.position, s.planar_left); };
    const auto before = [&](const Split& a, const Split& b) { return key(a) < key(b); };
    const auto same = [&](const Split& a, const Split& b) { return key(a) == key(b); };
    std::sort(splits.begin(), splits.end(), before);
    splits.erase(std::unique(splits.begin(), splits.end(), same), splits.end());
}

/// The planes at the references' ends along one axis.
std::vector<Split> ends(const References& references, unsigned axis) {
    std::vector<Split> splits;
    for (const Reference& reference : references) {
        splits.push_back({axis, component(reference.box.lo, axis), false});
        splits.push_back({axis, component(reference.box.hi, axis), true});
    }
    return splits;
}

/// Every plane that a small node may choose.
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

/// The box around references.
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

/// Every plane that a larger node may choose before snapping: those of the bins of a frame, and
/// those that cut off empty space.
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

struct Choice {
    Split split;
    double cost;
};

/// The first of the cheapest; nothing if there is none.
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

/// What decides whether a node is a leaf.
class LeafRules {
public:
    LeafRules(const scenes::Scene& scene, const BuildConfig& config)
        : config_(config),
          depth_limit_(max_depth(config, scene.triangles.size())),
          bad_limit_(static_cast<std::uint32_t>(double{config.bad_splits} +
                                                double{config.bad_splits_per_level} * depth_limit_ +
                                                1e-6)),
          area_(double{config.leaf_area} * measure({scene.bounds.lo, scene.bounds.hi}, false) /
                static_cast<double>(scene.triangles.size())) {}

    /// Whether there is no need to look at planes. With a positive tolerance, whether that may be
    /// so; with a negative one, whether it surely is.
    bool at_once(const Box& cell, const References& references, std::uint32_t depth,
                 double tolerance) const {
        if (depth >= depth_limit_) return true;
        if (references.size() > config_.leaf_limit) return false;
        const double contribution = static_cast<double>(references.size()) * measure(cell, false);
        return config_.leaf_area == 0 || contribution <= area_ * (1 + tolerance);
    }

    bool bad(const References& references, double cost) const {
        return !(cost < leaf_cost(references, config_) * double{config_.bad_split_ratio});
    }

    /// Whether a split is made that has so many bad ones above it.
    bool accepted(const References& references, double cost, std::uint32_t bad_above) const {
        if (!bad(references, cost)) return true;
        const bool hopeless =
            config_.hopeless_ratio > 0 && references.size() < 16 &&
            cost > leaf_cost(references, config_) * double{config_.hopeless_ratio};
        return bad_above < bad_limit_ && !hopeless;
    }

private:
    const BuildConfig& config_;
    std::uint32_t depth_limit_;
    std::uint32_t bad_limit_;
    double area_;
};

class ReferenceBuilder {
public:
    ReferenceBuilder(const scenes::Scene& scene, const BuildConfig& config)
        : config_(config), rules_(scene, config) {}

    void build(std::uint32_t number, const Box& cell, const References& references,
               std::uint32_t depth, std::uint32_t bad_above) {
        if (!rules_.at_once(cell, references, depth, 0)) {
            const std::optional<Choice> choice =
                best(all_planes(cell, references), cell, references, config_, 0);
            if (choice && rules_.accepted(references, choice->cost, bad_above)) {
                const Children children = divide(cell, references, choice->split);
                const auto child = static_cast<std::uint32_t>(nodes.size());
                const std::uint32_t bad = bad_above + rules_.bad(references, choice->cost);
                nodes.resize(nodes.size() + 2);
                nodes[number] = Node::inner(choice->split.axis, choice->split.position, child);
                build(child, children.left_cell, children.left, depth + 1, bad);
                build(child + 1, children.right_cell, children.right, depth + 1, bad);
                return;
            }
        }
        nodes[number] = Node::leaf(static_cast<std::uint32_t>(leaf_references.size()),
                                   static_cast<std::uint32_t>(references.size()));
        for (const Reference& r : references) leaf_references.push_back(r.triangle);
    }

    std::vector<Node> nodes{1};
    std::vector<std::uint32_t> leaf_references;

private:
    const BuildConfig& config_;
    LeafRules rules_;
};

/// A choice that is not what the rules ask for.
struct WrongChoice : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// How many bad splits there are above a node: at least and at most, for where a cost is within
/// the tolerance of a limit nobody knows.
struct BadSplits {
    std::uint32_t least = 0;
    std::uint32_t most = 0;
};

class ChoiceChecker {
public:
    ChoiceChecker(const scenes::Scene& scene, const Tree& tree, const BuildConfig& config)
        : tree_(tree), config_(config), rules_(scene, config), below_(tree.nodes.size()) {
        // Children have higher numbers than their parents in canonical form.
        for (std::size_t i = tree.nodes.size(); i-- > 0;) {
            const Node node = tree.nodes[i];
            std::vector<std::uint32_t>& all = below_[i];
            if (node.is_leaf()) {
                const auto first = tree.references.begin() + node.first();
                all.assign(first, first + node.count());
            } else {
                const auto& left = below_[node.child()];
                const auto& right = below_[node.child() + 1];
                std::set_union(left.begin(), left.end(), right.begin(), right.end(),
                               std::back_inserter(all));
            }
        }
    }

    /// `frame` is the box that the node's bins divide, should it have any.
    void check(std::uint32_t number, const Box& cell, const Box& frame,
               const References& references, std::uint32_t depth, BadSplits bad) const {
        const Node node = tree_.nodes[number];
        const bool exact = references.size() <= config_.exact_limit;
        const std::vector<Split> planes = references.empty() ? std::vector<Split>{}
                                          : exact            ? all_planes(cell, references)
                                                  : bin_planes(cell, frame, references, config_);
        // The best that surely was to be had.
        const std::optional<Choice> choice = best(planes, cell, references, config_, kTolerance);
        if (!holds(number, references)) fail(number, "does not hold the references it should");
        if (node.is_leaf()) {
            if (!rules_.at_once(cell, references, depth, kTolerance) && choice &&
                rules_.accepted(references, choice->cost * (1 + kTolerance), bad.most)) {
                fail(number, "is a leaf of cost " + text(leaf_cost(references, config_)) +
                                 ", though " + text(choice->split, choice->cost) +
                                 " was to be had");
            }
            return;
        }
        if (rules_.at_once(cell, references, depth, -kTolerance)) {
            fail(number, "is split, though it is small enough or too deep");
        }
        const Split split = chosen(number, node, cell, references, planes);
        const std::optional<double> paid = cost(cell, references, split, config_, -kTolerance);
        if (!paid) fail(number, "gains nothing by " + text(split, 0));
        if (!rules_.accepted(references, *paid * (1 - kTolerance), bad.least)) {
            fail(number, "pays for " + text(split, *paid) + ", a leaf costs " +
                             text(leaf_cost(references, config_)));
        }
        if (choice && *paid > choice->cost * (1 + kTolerance)) {
            fail(number,
                 "pays for " + text(split, *paid) + ", not " + text(choice->split, choice->cost));
        }
        const Children children = divide(cell, references, split);
        const bool cuts_empty = children.left.empty() || children.right.empty();
        if (!exact && !cuts_empty && references.size() <= config_.snap_limit) {
            check_snapped(number, cell, references, planes, split, *paid);
        }
        bad.least += rules_.bad(references, *paid * (1 - kTolerance));
        bad.most += rules_.bad(references, *paid * (1 + kTolerance));
        // Where only empty space is cut off, the same bins serve the rest.
        Box below = frame;
        Box above = frame;
        if (!cuts_empty) {
            below = above = config_.tight_cuts ? around(references) : cell;
            set_component(below.hi, split.axis, split.position);
            set_component(above.lo, split.axis, split.position);
        }
        check(node.child(), children.left_cell, below, children.left, depth + 1, bad);
        check(node.child() + 1, children.right_cell, above, children.right, depth + 1, bad);
    }

private:
    [[noreturn]] static void fail(std::uint32_t number, const std::string& what) {
        throw WrongChoice("node " + std::to_string(number) + " " + what);
    }

    static std::string text(double value) {
        std::ostringstream out;
        out.precision(9);
        out << value;
        return out.str();
    }

    static std::string text(const Split& split, double cost) {
        return std::string("the plane ") + "xyz"[split.axis] + " = " + text(split.position) +
               " (planar to the " + (split.planar_left ? "left" : "right") + ") of cost " +
               text(cost);
    }

    /// Whether the leaves below the node hold exactly these. Without clipping no reference is ever
    /// dropped on the way down.
    bool holds(std::uint32_t number, const References& references) const {
        return std::ranges::equal(below_[number], references, {}, {}, &Reference::triangle);
    }

    /// The ends of references that a plane may move to: the highest upper end that is not above it,
    /// and the lowest lower end that is not below it. Those on the cell's faces do not count.
    static std::vector<Split> neighbours(const Box& cell, const References& references,
                                         unsigned axis, float position) {
        std::vector<Split> all = ends(references, axis);
        std::erase_if(all, [&](const Split& s) {
            return (s.planar_left ? s.position > position : s.position < position) ||
                   s.position <= component(cell.lo, axis) || s.position >= component(cell.hi, axis);
        });
        std::vector<Split> result;
        for (const bool upper : {true, false}) {
            const Split* nearest = nullptr;
            for (const Split& s : all) {
                if (s.planar_left != upper) continue;
                if (nearest == nullptr ||
                    (upper ? s.position > nearest->position : s.position < nearest->position)) {
                    nearest = &s;
                }
            }
            if (nearest != nullptr) result.push_back(*nearest);
        }
        return result;
    }

    static bool same(const Split& a, const Split& b) {
        return a.axis == b.axis && a.position == b.position && a.planar_left == b.planar_left;
    }

    /// Checks that the split is the cheapest of one of the bins' planes and its neighbours.
    void check_snapped(std::uint32_t number, const Box& cell, const References& references,
                       const std::vector<Split>& planes, const Split& split, double paid) const {
        const auto cheapest_at = [&](const Split& plane) {
            std::vector<Split> three = neighbours(cell, references, plane.axis, plane.position);
            std::erase_if(three, [&](const Split& s) {
                const Children children = divide(cell, references, s);
                return children.left.empty() || children.right.empty();
            });
            three.push_back(plane);
            const auto cheapest = best(three, cell, references, config_, kTolerance);
            // Where no reference lies in a plane both of its sides are the same split.
            return std::ranges::any_of(
                       three, [&](const Split& s) { return s.position == split.position; }) &&
                   cheapest && paid <= cheapest->cost * (1 + kTolerance);
        };
        const bool good = std::ranges::any_of(planes, [&](const Split& plane) {
            return plane.axis == split.axis && !plane.planar_left && cheapest_at(plane);
        });
        if (!good) fail(number, "has not moved " + text(split, paid) + " to the nearest end");
    }

    /// The split that the node has chosen. Which way planar references went is not in the node,
    /// but can be seen from the leaves below.
    Split chosen(std::uint32_t number, const Node& node, const Box& cell,
                 const References& references, const std::vector<Split>& planes) const {
        const unsigned axis = node.axis();
        std::vector<Split> allowed = planes;
        if (references.size() > config_.exact_limit && references.size() <= config_.snap_limit) {
            const std::vector<Split> snapped = ends(references, axis);
            allowed.insert(allowed.end(), snapped.begin(), snapped.end());
        }
        std::vector<Split> possible{{axis, node.split(), false}, {axis, node.split(), true}};
        std::erase_if(possible, [&](const Split& split) {
            return std::ranges::none_of(allowed,
                                        [&](const Split& other) { return same(split, other); });
        });
        for (const Split& split : possible) {
            const Children children = divide(cell, references, split);
            if (holds(node.child(), children.left) && holds(node.child() + 1, children.right)) {
                return split;
            }
        }
        fail(number, possible.empty() ? "is split where no plane may be"
                                      : "has divided its references wrongly");
    }

    const Tree& tree_;
    const BuildConfig& config_;
    LeafRules rules_;
    std::vector<std::vector<std::uint32_t>> below_;  ///< sorted triangles of each subtree
};

}  // namespace

Tree reference_tree(const scenes::Scene& scene, const BuildConfig& config) {
    const Box root{scene.bounds.lo, scene.bounds.hi};
    ReferenceBuilder builder(scene, config);
    builder.build(0, root, all_references(scene), 0, 0);
    return canonical(builder.nodes, builder.leaf_references, root);
}

std::optional<std::string> wrong_choice(const scenes::Scene& scene, const Tree& tree,
                                        const BuildConfig& config) {
    try {
        walk(tree, [](std::uint32_t, const Box&, std::uint32_t) {});
        const ChoiceChecker checker(scene, tree, config);
        const Box root{scene.bounds.lo, scene.bounds.hi};
        checker.check(0, root, root, all_references(scene), 0, {});
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

}  // namespace heapwood::kdtree::tests
