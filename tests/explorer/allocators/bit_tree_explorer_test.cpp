/// @file
/// Trees of bits, step by step: two and three threads that set and clear numbers of the
/// same words, under two levels of summaries.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/segments/bit_tree.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/memory.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::bit_tree_scenarios {

namespace {

using allocators::segments::BitTree;
using allocators::segments::kNone;
using allocators::segments::TreeShape;

/// A tree of 8192 numbers, each with a payload that belongs to the thread that has removed it.
class TreeOfPayloads {
public:
    explicit TreeOfPayloads(const std::vector<std::uint32_t>& at_first) {
        for (const std::uint32_t i : at_first) tree_.set(i);
    }

    /// Sets i, which the caller has.
    void set(std::uint32_t i) {
        begin_operation("set", i);
        use(i);
        tree_.set(i);
        end_operation(0);
    }
    /// Removes i, if it is there.
    bool clear(std::uint32_t i) {
        begin_operation("clear", i);
        const bool cleared = tree_.clear(i);
        if (cleared) use(i);
        end_operation(cleared);
        return cleared;
    }
    /// Looks for any number from the front, while there is one that does not go.
    void must_find() {
        begin_operation("must_find", 0);
        if (tree_.find(0) == kNone) fail("a number that is there is not found");
        end_operation(0);
    }
    void clear_and_set(std::uint32_t i) {
        if (clear(i)) set(i);
    }

    /// @param at_last the numbers that must be in the set at the end, and no others
    Result explore(std::vector<std::function<void(TreeOfPayloads&)>> threads,
                   std::vector<std::uint32_t> at_last, const Mutation& mutation = {}) {
        Program program;
        for (auto& t : threads) {
            program.threads.emplace_back([this, body = std::move(t)] { body(*this); });
        }
        program.finish = [this, &at_last] {
            std::uint32_t from = 0;
            for (const std::uint32_t i : at_last) {
                if (tree_.find(from) != i) fail("number " + std::to_string(i) + " is not found");
                from = i + 1;
            }
            if (tree_.find(from) != kNone) fail("a number is found that is not there");
        };
        return explorer::explore(program, {.preemptions = 4, .stale_reads = 2}, mutation);
    }

private:
    void use(std::uint32_t i) { access(&payloads_[i], sizeof(payloads_[i])); }

    TreeShape shape_ = TreeShape::of(8192);
    alignas(16) std::uint64_t words_[128 + 2 + 1] = {};
    BitTree tree_{words_, shape_};
    alignas(16) std::uint32_t payloads_[256][4] = {};
};

struct TreeScenario {
    const char* name;
    std::vector<std::uint32_t> at_first;
    std::vector<std::function<void(TreeOfPayloads&)>> threads;
    std::vector<std::uint32_t> at_last;
};

std::vector<TreeScenario> scenarios() {
    using T = TreeOfPayloads;
    return {
        {"a word becomes empty as a number comes",
         {70},
         {[](T& t) { t.clear(70); }, [](T& t) { t.set(71); }},
         {71}},
        {"two numbers come", {}, {[](T& t) { t.set(70); }, [](T& t) { t.set(71); }}, {70, 71}},
        {"a number that has come is found, though another one is on its way",
         {},
         {[](T& t) { t.set(70); },
          [](T& t) {
              t.set(71);
              t.must_find();
          }},
         {70, 71}},
        {"numbers of two words come",
         {},
         {[](T& t) { t.set(70); }, [](T& t) { t.set(130); }},
         {70, 130}},
        {"a summary becomes empty as a number comes",
         {70},
         {[](T& t) { t.clear(70); }, [](T& t) { t.set(130); }},
         {130}},
        {"two numbers go", {70, 71}, {[](T& t) { t.clear(70); }, [](T& t) { t.clear(71); }}, {}},
        {"both want the same number",
         {5, 70},
         {[](T& t) { t.clear_and_set(70); }, [](T& t) { t.clear_and_set(70); }},
         {5, 70}},
        {"numbers come and go",
         {70, 71},
         {[](T& t) { t.clear_and_set(70); }, [](T& t) { t.clear_and_set(71); }},
         {70, 71}},
        {"a number comes back as another comes and goes",
         {70},
         {[](T& t) { t.clear_and_set(70); },
          [](T& t) {
              t.set(71);
              t.clear(71);
          }},
         {70}},
        {"a third one comes",
         {70},
         {[](T& t) { t.clear(70); }, [](T& t) { t.set(71); }, [](T& t) { t.set(72); }},
         {71, 72}},
    };
}

TEST(BitTreeExplorer, NoWordWithNumbersLacksItsSummary) {
    for (const TreeScenario& s : scenarios()) {
        TreeOfPayloads tree(s.at_first);
        expect_nothing_found(tree.explore(s.threads, s.at_last), s.name);
    }
}

/// Breaks every source line of the tree in every way that applies to it, one at a time.
TEST(BitTreeExplorer, FindsFaults) {
    Places places;
    for (const TreeScenario& s : scenarios()) {
        add_places(places, TreeOfPayloads(s.at_first).explore(s.threads, s.at_last),
                   {"bit_tree.cuh"});
    }
    auto found = break_each(
        places,
        [](const Mutation& m) {
            for (const TreeScenario& s : scenarios()) {
                if (TreeOfPayloads(s.at_first).explore(s.threads, s.at_last, m).found()) {
                    return std::string(s.name);
                }
            }
            return std::string();
        },
        {Fault::no_acquire, Fault::no_release, Fault::torn, Fault::lost});
    // Clearing a leaf and a summary; setting them; all four; and all but clearing a summary, which
    // then leads to an empty word.
    EXPECT_EQ(found[Fault::no_acquire], 2U);
    EXPECT_EQ(found[Fault::no_release], 2U);
    EXPECT_EQ(found[Fault::torn], 4U);
    EXPECT_EQ(found[Fault::lost], 3U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::bit_tree_scenarios
