/// @file
/// Whether the conformance suite runs what lanes do together: lanes of a LockstepWarp form groups
/// in every allocator that has code for them (tests/allocators/grouped).
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/allocators/platform/lane_groups.h"
#include "tests/allocators/pool_test.h"

namespace heapwood::tests {

namespace {

/// Allocators whose lanes act together, by the beginnings of their names.
constexpr std::array<std::string_view, 9> kGrouping{
    "bulkalloc", "cambium", "dynasoar",  "flatterscatter", "gallatin",
    "halloc",    "kma",     "llvm-libc", "ouroboros"};

/// These, on a machine whose warps have several lanes.
std::vector<const AnySubject*> grouping_subjects() {
    std::vector<const AnySubject*> found = subjects_of(Role::conformance);
    std::erase_if(found, [](const AnySubject* s) {
        return s->machine->width == 1 ||
               std::ranges::none_of(kGrouping, [s](std::string_view name) {
                   return std::string_view(s->traits.name).starts_with(name);
               });
    });
    return found;
}

class GroupedTest : public PoolTest {};
INSTANTIATE_TEST_SUITE_P(, GroupedTest, ::testing::ValuesIn(grouping_subjects()), subject_name);
// A short list of allocators may have none of these.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GroupedTest);

TEST_P(GroupedTest, LanesActTogether) {
    auto a = make(pool_bytes_);
    group_counts.reset();
    auto slots = array<Block>(threads_ * kSlots);
    const std::uint64_t requests = churn(*a, slots, 1).requests;
    RecordProperty("groups", std::to_string(group_counts.together));
    EXPECT_GT(group_counts.together, requests / 100);
}

}  // namespace

}  // namespace heapwood::tests
