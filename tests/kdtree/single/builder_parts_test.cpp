/// @file
/// The builder's parts on a CPU.
#include <gtest/gtest.h>

#include <vector>

#include "kdtree/split/sides_serial.h"
#include "tests/kdtree/single/task_queue_tests.h"
#include "tests/kdtree/split/split_tests.h"

namespace heapwood::kdtree::tests {

using Machines = ::testing::Types<heapwood::tests::SerialMachine, heapwood::tests::LockstepMachine>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, SplitTest, Machines);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, TaskQueueTest, Machines);

TEST(SerialSides, SortsReferencesAsTheSplitSays) {
    Dice dice;
    for (int round = 0; round < 2000; ++round) {
        // Few different values, so that many references end or lie in the plane.
        const auto value = [&] { return static_cast<float>(dice.below(6)); };
        std::vector<Reference> references(1 + dice.below(SerialSides::kMost));
        for (std::uint32_t i = 0; i < references.size(); ++i) {
            Reference& r = references[i];
            for (int k = 0; k < 3; ++k) {
                const float a = value();
                const float b = value();
                r.lo[k] = std::min(a, b);
                r.hi[k] = std::max(a, b);
            }
            r.primitive = i;
        }
        const Split split{value(), dice.below(3), static_cast<Side>(dice.below(2)), 0, 0};
        std::vector<unsigned> left;
        std::vector<unsigned> right;
        std::vector<unsigned> both;
        for (const Reference& r : references) {
            const float lo = component(r.lo, split.axis);
            const float hi = component(r.hi, split.axis);
            const bool to_left = goes_left(lo, hi, split.position, split.side);
            const bool to_right = goes_right(lo, hi, split.position, split.side);
            (to_left && to_right ? both : to_left ? left : right).push_back(r.primitive);
        }
        const SerialSides sides(references.data(), static_cast<std::uint32_t>(references.size()),
                                static_cast<int>(split.axis), split.position, split.side);
        const auto list = [](const SerialSides::List& l) {
            return std::vector<unsigned>(l.begin(), l.end());
        };
        ASSERT_EQ(list(sides.left), left);
        ASSERT_EQ(list(sides.right), right);
        ASSERT_EQ(list(sides.both), both);
    }
}

}  // namespace heapwood::kdtree::tests
