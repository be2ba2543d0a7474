/// @file
/// The register of a guarded heap, step by step: threads that enter, look up, free and leave blocks
/// whose ways through a table of four entries cross.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/heap/block_register.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::register_scenarios {

namespace {

using allocators::heap::BlockRegister;
using allocators::heap::RegisterEntry;

/// Blocks are numbers from 1 on; what is entered of each tells its number.
class SmallRegister {
public:
    /// @param at_first blocks that are in the table
    explicit SmallRegister(const std::vector<std::uint32_t>& at_first) {
        for (const std::uint32_t block : at_first) {
            table_.enter(address(block), bytes(block), block, block);
        }
    }

    /// A block that the caller alone has is entered.
    void enter(std::uint32_t block) {
        begin_operation("enter", block);
        if (!table_.enter(address(block), bytes(block), block, block)) fail("there is no room");
        end_operation(0);
    }
    /// As the guarded heap frees and gives back. @return whether this caller was it
    bool free_and_leave(std::uint32_t block) {
        begin_operation("free", block);
        const std::uint32_t index = table_.find(address(block));
        bool freed = false;
        if (index != BlockRegister::kNone) {
            freed = table_.set_freed(index, address(block));
            if (freed) {
                expect_entry(index, block, RegisterEntry::kFreed);
                table_.leave(index);
            }
        }
        end_operation(freed);
        return freed;
    }
    /// The caller's own block is freed by it alone.
    void must_free(std::uint32_t block) {
        if (!free_and_leave(block)) fail("a live block is not found, or not freed");
    }
    /// A block that does not go is found.
    void must_find(std::uint32_t block) {
        begin_operation("find", block);
        const std::uint32_t index = table_.find(address(block));
        if (index == BlockRegister::kNone) fail("a live block is not found");
        expect_entry(index, block, 0);
        end_operation(0);
    }
    /// Looks up a block that is on its way.
    void look_up(std::uint32_t block) {
        begin_operation("find", block);
        const std::uint32_t index = table_.find(address(block));
        if (index != BlockRegister::kNone) expect_entry(index, block, 0);
        end_operation(index);
    }
    void must_not_find(std::uint32_t block) {
        begin_operation("find", block);
        if (table_.find(address(block)) != BlockRegister::kNone) fail("no block is found");
        end_operation(0);
    }
    /// Frees a block that another thread frees, too.
    void free_also(std::uint32_t block) {
        if (free_and_leave(block)) counted();
    }

    Result explore(std::vector<std::function<void(SmallRegister&)>> threads,
                   std::vector<std::uint32_t> at_last, const Mutation& mutation = {}) {
        Program program;
        for (auto& t : threads) {
            program.threads.emplace_back([this, body = std::move(t)] { body(*this); });
        }
        program.begin = [this] { frees_ = 0; };
        program.shared = [this] { return frees_; };
        program.finish = [this, &at_last] {
            if (frees_ > 1) fail("a block was freed twice");
            for (std::uint32_t block = 1; block <= 6; ++block) {
                const bool is_in = table_.find(address(block)) != BlockRegister::kNone;
                bool must_be = false;
                for (const std::uint32_t b : at_last) must_be = must_be || b == block;
                // A block that may be freed before it comes is there if nobody has freed it.
                if (frees_ == 1 && block == 1) must_be = false;
                if (is_in != must_be) fail("block " + std::to_string(block) + " is wrong");
            }
        };
        return explorer::explore(program, {.preemptions = 4, .stale_reads = 2}, mutation);
    }

private:
    static std::uint64_t address(std::uint32_t block) { return std::uint64_t{block} * 16; }
    static std::uint64_t bytes(std::uint32_t block) { return 1000 + block; }
    void expect_entry(std::uint32_t index, std::uint32_t block, std::uint64_t freed) {
        const RegisterEntry entry = table_.read(index);
        if (entry.key != (address(block) | freed) || entry.bytes != bytes(block) ||
            entry.tag != block || entry.front != block) {
            fail("what was entered is not what is read");
        }
    }
    void counted() { ++frees_; }

    std::uint64_t frees_ = 0;
    alignas(16) RegisterEntry entries_[4] = {};
    BlockRegister table_{entries_, 3};
};

struct Scenario {
    const char* name;
    std::vector<std::uint32_t> at_first;
    std::vector<std::function<void(SmallRegister&)>> threads;
    std::vector<std::uint32_t> at_last;
};

std::vector<Scenario> scenarios() {
    using R = SmallRegister;
    return {
        {"two blocks come", {}, {[](R& r) { r.enter(1); }, [](R& r) { r.enter(2); }}, {1, 2}},
        {"two come whose ways begin at the same entry",
         {},
         {[](R& r) { r.enter(1); }, [](R& r) { r.enter(4); }},
         {1, 4}},
        {"one is looked up as it comes",
         {},
         {[](R& r) { r.enter(1); }, [](R& r) { r.look_up(1); }},
         {1}},
        {"one is freed as soon as it is seen",
         {},
         {[](R& r) { r.enter(1); }, [](R& r) { r.free_also(1); }},
         {1}},
        {"each comes, is found and goes",
         {},
         {[](R& r) {
              r.enter(1);
              r.must_find(1);
              r.must_free(1);
          },
          [](R& r) {
              r.enter(2);
              r.must_find(2);
              r.must_free(2);
          }},
         {}},
        {"one is freed by two",
         {1},
         {[](R& r) { r.free_also(1); }, [](R& r) { r.free_also(1); }},
         {}},
        {"one is freed by two while another one is found",
         {1, 3, 4, 5},
         {[](R& r) { r.free_also(1); }, [](R& r) { r.free_also(1); }, [](R& r) { r.must_find(5); }},
         {3, 4, 5}},
        {"a full table is left by two and entered by one",
         {1, 2, 3, 4},
         {[](R& r) {
              r.must_free(1);
              r.enter(5);
          },
          [](R& r) {
              r.must_free(2);
              r.must_find(3);
          }},
         {3, 4, 5}},
        {"two come where two go",
         {1, 2},
         {[](R& r) {
              r.must_free(1);
              r.enter(5);
          },
          [](R& r) {
              r.must_free(2);
              r.enter(6);
          }},
         {5, 6}},
        {"a late free does not hit the next block of the entry",
         {1, 2, 3},
         {[](R& r) {
              r.must_free(1);
              r.enter(5);
          },
          [](R& r) {
              r.must_find(3);
              r.must_not_find(4);
          }},
         {2, 3, 5}},
    };
}

TEST(BlockRegisterExplorer, FindsWhatIsThereAndFreesItOnce) {
    for (const Scenario& s : scenarios()) {
        SmallRegister table(s.at_first);
        expect_nothing_found(table.explore(s.threads, s.at_last), s.name);
    }
}

/// Breaks every source line of the register in every way that applies to it, one at a time.
TEST(BlockRegisterExplorer, FindsFaults) {
    Places places;
    for (const Scenario& s : scenarios()) {
        add_places(places, SmallRegister(s.at_first).explore(s.threads, s.at_last),
                   {"block_register.cuh"});
    }
    auto found =
        break_each(places,
                   [](const Mutation& m) {
                       for (const Scenario& s : scenarios()) {
                           if (SmallRegister(s.at_first).explore(s.threads, s.at_last, m).found()) {
                               return std::string(s.name);
                           }
                       }
                       return std::string();
                   },
                   {Fault::no_acquire, Fault::no_release, Fault::torn, Fault::lost});
    // Looking up what another one publishes. Not found: who takes an entry, or frees a block,
    // acquires so that the reads of the one before come before its own writes, and leaving releases
    // for the same reason; here a load never reads what is stored later.
    EXPECT_EQ(found[Fault::no_acquire], 1U);
    EXPECT_EQ(found[Fault::no_release], 1U);
    EXPECT_EQ(found[Fault::torn], 2U);
    EXPECT_EQ(found[Fault::lost], 7U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::register_scenarios
