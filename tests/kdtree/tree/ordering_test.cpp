/// @file
/// The passes of canonical_steps.cuh by threads of the host, which take a level's pairs in any
/// order.
#include "tests/kdtree/tree/ordering_tests.h"

#include "allocators/platform/for_chunks.h"

namespace heapwood::kdtree::tests {
namespace {

struct ThreadsOfTheHost {
    static bool available() { return true; }
    static std::optional<Tree> ordered(const Tree& tree, float scale) {
        using detail::CanonicalWork;
        using detail::ListedPair;
        using detail::ListState;
        ListState state;
        std::vector<std::uint32_t> placed(tree.nodes.size() / 32 + 1);
        std::vector<ListedPair> list(tree.nodes.size() / 2 + 1);
        CanonicalWork work{.nodes = tree.nodes.data(),
                           .node_end = tree.nodes.size(),
                           .references = tree.references.data(),
                           .reference_end = tree.references.size(),
                           .scale = scale,
                           .state = &state,
                           .placed = placed.data(),
                           .list = list.data(),
                           .to_nodes = nullptr,
                           .to_references = nullptr};
        const auto each = [&](std::uint32_t level, const auto& step) {
            const std::uint32_t begin = work.begin(level);
            platform::for_chunks(work.end(level) - begin, 16, 3,
                                 [&](std::uint64_t first, std::uint64_t end) {
                                     for (auto i = end; i-- > first;) {
                                         step(begin + static_cast<std::uint32_t>(i));
                                     }
                                 });
        };
        for (std::uint32_t level = 0; level < ListState::kLevels; ++level) {
            each(level, [&](std::uint32_t i) { work.list_below(level, i); });
            if (state.fault != 0) return {};
        }
        for (std::uint32_t level = ListState::kLevels; level-- > 0;) {
            each(level, [&](std::uint32_t i) { work.count(i); });
        }
        if (state.fault != 0) return {};
        Tree result{Nodes(2 * std::size_t{list[0].pairs} - 1), Numbers(list[0].references),
                    tree.bounds};
        work.to_nodes = result.nodes.data();
        work.to_references = result.references.data();
        for (std::uint32_t level = 0; level < ListState::kLevels; ++level) {
            each(level, [&](std::uint32_t i) { work.put(i); });
        }
        if (state.long_leaves != 0) {
            for (const Node& node : result.nodes) {
                if (!node.is_leaf() || node.count() <= CanonicalWork::kMostSorted) continue;
                const auto first = result.references.begin() + node.first();
                std::sort(first, first + node.count());
            }
        }
        return result;
    }
};

using Machines = ::testing::Types<ThreadsOfTheHost>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, OrderingTest, Machines);

}  // namespace
}  // namespace heapwood::kdtree::tests
