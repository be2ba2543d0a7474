#include "reference_builder.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "kdtree/walk.h"

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

/// The cost of a split; nothing if it would repeat the node in one child and leave the other empty.
std::optional<double> cost(const Box& cell, const References& references, const Split& split,
                           const BuildConfig& config) {
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
    const double sum = double{config.traversal_cost} +
                       double{config.intersection_cost} * tests / measure(cell, by_length);
    return none_left || none_right ? double{config.empty_bonus} * sum : sum;
}

/// Every plane that a builder may choose, in order of preference among equal costs.
std::vector<Split> candidates(const Box& cell, const References& references) {
    std::vector<Split> splits;
    for (unsigned axis = 0; axis < 3; ++axis) {
        if (!(component(cell.lo, axis) < component(cell.hi, axis))) continue;
        for (const Reference& reference : references) {
            splits.push_back({axis, component(reference.box.lo, axis), false});
            splits.push_back({axis, component(reference.box.hi, axis), true});
        }
    }
    const auto key = [](const Split& s) { return std::tuple(s.axis, s.position, s.planar_left); };
    const auto before = [&](const Split& a, const Split& b) { return key(a) < key(b); };
    const auto same = [&](const Split& a, const Split& b) { return key(a) == key(b); };
    std::sort(splits.begin(), splits.end(), before);
    splits.erase(std::unique(splits.begin(), splits.end(), same), splits.end());
    return splits;
}

struct Choice {
    Split split;
    double cost;
};

std::optional<Choice> best(const Box& cell, const References& references,
                           const BuildConfig& config) {
    std::optional<Choice> result;
    for (const Split& split : candidates(cell, references)) {
        const std::optional<double> c = cost(cell, references, split, config);
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

double leaf_cost(const References& references, const BuildConfig& config) {
    return double{config.intersection_cost} * static_cast<double>(references.size());
}

class ReferenceBuilder {
public:
    ReferenceBuilder(const BuildConfig& config, std::uint32_t depth_limit)
        : config_(config), depth_limit_(depth_limit) {}

    void build(std::uint32_t number, const Box& cell, const References& references,
               std::uint32_t depth) {
        if (references.size() > config_.leaf_limit && depth < depth_limit_) {
            const std::optional<Choice> choice = best(cell, references, config_);
            if (choice && choice->cost < leaf_cost(references, config_)) {
                const Children children = divide(cell, references, choice->split);
                const auto child = static_cast<std::uint32_t>(nodes.size());
                nodes.resize(nodes.size() + 2);
                nodes[number] = Node::inner(choice->split.axis, choice->split.position, child);
                build(child, children.left_cell, children.left, depth + 1);
                build(child + 1, children.right_cell, children.right, depth + 1);
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
    std::uint32_t depth_limit_;
};

/// A choice that is not what the rules ask for.
struct WrongChoice : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class ChoiceChecker {
public:
    ChoiceChecker(const Tree& tree, const BuildConfig& config, std::uint32_t depth_limit)
        : tree_(tree), config_(config), depth_limit_(depth_limit), below_(tree.nodes.size()) {
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

    void check(std::uint32_t number, const Box& cell, const References& references,
               std::uint32_t depth) const {
        const Node node = tree_.nodes[number];
        const bool exact = references.size() <= config_.exact_limit;
        std::optional<Choice> choice;
        if (exact) choice = best(cell, references, config_);
        const double leaf = leaf_cost(references, config_);
        if (!holds(number, references)) fail(number, "does not hold the references it should");
        if (node.is_leaf()) {
            if (references.size() > config_.leaf_limit && depth < depth_limit_ && choice &&
                choice->cost < leaf * (1 - kTolerance)) {
                fail(number, "is a leaf of cost " + text(leaf) + ", though " +
                                 text(choice->split, choice->cost) + " was to be had");
            }
            return;
        }
        if (references.size() <= config_.leaf_limit) fail(number, "has few enough for a leaf");
        if (depth >= depth_limit_) fail(number, "is too deep to be split");
        const Split split = chosen(number, node, cell, references, exact);
        const std::optional<double> paid = cost(cell, references, split, config_);
        if (!paid) fail(number, "gains nothing by " + text(split, 0));
        if (*paid > leaf * (1 + kTolerance)) {
            fail(number, "pays for " + text(split, *paid) + ", a leaf costs " + text(leaf));
        }
        if (choice && *paid > choice->cost * (1 + kTolerance)) {
            fail(number,
                 "pays for " + text(split, *paid) + ", not " + text(choice->split, choice->cost));
        }
        const Children children = divide(cell, references, split);
        check(node.child(), children.left_cell, children.left, depth + 1);
        check(node.child() + 1, children.right_cell, children.right, depth + 1);
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

    /// The split that the node has chosen. Which way planar references went is not in the node,
    /// but can be seen from the leaves below.
    Split chosen(std::uint32_t number, const Node& node, const Box& cell,
                 const References& references, bool exact) const {
        const unsigned axis = node.axis();
        std::vector<Split> possible{{axis, node.split(), false}, {axis, node.split(), true}};
        if (exact) {
            const auto all = candidates(cell, references);
            std::erase_if(possible, [&](const Split& split) {
                return std::ranges::none_of(all, [&](const Split& other) {
                    return other.axis == axis && other.position == split.position &&
                           other.planar_left == split.planar_left;
                });
            });
        } else if (node.split() < component(cell.lo, axis) ||
                   node.split() > component(cell.hi, axis)) {
            possible.clear();
        }
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
    std::uint32_t depth_limit_;
    std::vector<std::vector<std::uint32_t>> below_;  ///< sorted triangles of each subtree
};

}  // namespace

Tree reference_tree(const scenes::Scene& scene, const BuildConfig& config) {
    const Box root{scene.bounds.lo, scene.bounds.hi};
    ReferenceBuilder builder(config, max_depth(config, scene.triangles.size()));
    builder.build(0, root, all_references(scene), 0);
    return canonical(builder.nodes, builder.leaf_references, root);
}

std::optional<std::string> wrong_choice(const scenes::Scene& scene, const Tree& tree,
                                        const BuildConfig& config) {
    try {
        walk(tree, [](std::uint32_t, const Box&, std::uint32_t) {});
        const ChoiceChecker checker(tree, config, max_depth(config, scene.triangles.size()));
        checker.check(0, Box{scene.bounds.lo, scene.bounds.hi}, all_references(scene), 0);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

}  // namespace heapwood::kdtree::tests
