#include "tests/kdtree/choice_checker.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "kdtree/tree/walk.h"
#include "tests/kdtree/oracle_splits.h"

namespace heapwood::kdtree::tests {
namespace {

using oracle::all_planes;
using oracle::around;
using oracle::best;
using oracle::bin_planes;
using oracle::Children;
using oracle::Choice;
using oracle::cost;
using oracle::divide;
using oracle::ends;
using oracle::leaf_cost;
using oracle::LeafRules;
using oracle::Reference;
using oracle::References;
using oracle::Split;

/// How far a cost in single precision may be off.
constexpr double kTolerance = 1e-5;

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

std::optional<std::string> wrong_choice(const scenes::Scene& scene, const Tree& tree,
                                        const BuildConfig& config) {
    try {
        walk(tree, [](std::uint32_t, const Box&, std::uint32_t) {});
        const ChoiceChecker checker(scene, tree, config);
        const Box root{scene.bounds.lo, scene.bounds.hi};
        checker.check(0, root, root, oracle::all_references(scene), 0, {});
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

}  // namespace heapwood::kdtree::tests
