#include "tests/kdtree/oracle_builder.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/kdtree/oracle_splits.h"

namespace heapwood::kdtree::tests {
namespace {

using oracle::all_planes;
using oracle::best;
using oracle::Children;
using oracle::Choice;
using oracle::LeafRules;
using oracle::Reference;
using oracle::References;

class OracleBuilder {
public:
    OracleBuilder(const scenes::Scene& scene, const BuildConfig& config)
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

}  // namespace

Tree oracle_tree(const scenes::Scene& scene, const BuildConfig& config) {
    const Box root{scene.bounds.lo, scene.bounds.hi};
    OracleBuilder builder(scene, config);
    builder.build(0, root, oracle::all_references(scene), 0, 0);
    return canonical(builder.nodes, builder.leaf_references, root);
}

}  // namespace heapwood::kdtree::tests
