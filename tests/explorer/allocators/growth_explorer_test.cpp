/// @file
/// How callers ask the host for parts of a pool, step by step: callers of several sizes, and a host
/// that makes parts, refuses them, or is late.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/heap/growth_words.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::growth_scenarios {

namespace {

using allocators::heap::GrowthCaller;
using allocators::heap::GrowthHost;
using allocators::heap::GrowthWords;
using allocators::heap::Mailbox;
using allocators::heap::PartsAndBytes;

/// Nanoseconds that no exploration takes.
constexpr std::uint64_t kForEver = std::uint64_t{1} << 62;

/// A pool of one part that grows, for one or two callers (threads 0 and 1) and the host (the last
/// thread). The entry of a part in the table is a word.
class SmallPool {
public:
    /// @param largest bytes for which the host makes parts; it refuses others
    SmallPool(std::uint64_t largest, std::uint64_t patience)
        : largest_(largest), patience_(patience) {
        const std::uint64_t at_first = PartsAndBytes{1, PartsAndBytes::kNoBytes}.word();
        words_.known = at_first;
        mailbox_.answer = at_first;
    }

    /// A caller whose request `parts` parts have refused. @return the parts that there are
    std::uint32_t ask(std::uint32_t parts, std::uint64_t bytes) {
        begin_operation("ask", bytes);
        std::uint64_t deadline = 0;
        const std::uint32_t found = GrowthCaller{&words_, &mailbox_, patience_}.more_parts(
            parts, bytes, deadline, [this](std::uint32_t known) { extend(known); });
        if (found > parts) {
            access(&extended_[thread()], sizeof extended_[0]);
            if (extended_[thread()] < found) fail("a caller hears of a part before the messenger");
        }
        if (found < parts) fail("there are fewer parts than before");
        for (std::uint32_t part = 1; part < found; ++part) {
            std::uint32_t& entry = tables_[thread()][part];
            access(&entry, sizeof entry);
            if (entry != part) fail("the entry of a part is not there");
        }
        end_operation(found);
        return found;
    }
    /// Callers whose request must be served, must not be, or may be.
    void must_get(std::uint32_t parts, std::uint64_t bytes) {
        if (ask(parts, bytes) == parts) fail("a request is refused that could be served");
    }
    void must_not_get(std::uint32_t parts, std::uint64_t bytes) {
        if (ask(parts, bytes) != parts) fail("a request is served that the host refuses");
    }

    /// The host waits for a request that it has not answered, and answers it.
    void serve() {
        begin_operation("serve", 0);
        const GrowthHost host{&mailbox_};
        PartsAndBytes request = host.request();
        while (request.parts != parts_ || request.bytes >= refused_) {
            platform::back_off(0);
            request = host.request();
        }
        if (request.bytes > largest_) {
            refused_ = request.bytes;
        } else {
            for (auto& table : tables_) {
                access(&table[parts_], sizeof table[parts_]);
                poke(table[parts_], parts_);
            }
            ++parts_;
            refused_ = PartsAndBytes::kNoBytes;
        }
        host.answer({parts_, refused_});
        end_operation(request.word());
    }

    Result explore(const std::vector<std::function<void(SmallPool&)>>& threads,
                   std::uint32_t parts_at_last, const Mutation& mutation = {}) {
        Program program;
        for (const auto& t : threads) {
            program.threads.emplace_back([this, &t] { t(*this); });
        }
        program.begin = [this] {
            parts_ = 1;
            refused_ = PartsAndBytes::kNoBytes;
        };
        program.shared = [this] { return PartsAndBytes{parts_, refused_}.word(); };
        program.finish = [this, parts_at_last] {
            if (parts_at_last != 0 && parts_ != parts_at_last) {
                fail(std::to_string(parts_) + " parts were made");
            }
        };
        return explorer::explore(program, {.preemptions = 2, .stale_reads = 1}, mutation);
    }

private:
    /// What the messenger does with a pool of one range; no two messengers at a time.
    void extend(std::uint32_t parts) {
        access(&in_use_, sizeof in_use_);
        if (parts <= in_use_) return;
        poke(in_use_, parts);
        for (std::uint32_t& parts_of_caller : extended_) {
            access(&parts_of_caller, sizeof parts_of_caller);
            poke(parts_of_caller, parts);
        }
    }

    std::uint64_t largest_;
    std::uint64_t patience_;
    std::uint32_t in_use_ = 1;            ///< parts; the messenger's
    std::uint32_t extended_[2] = {1, 1};  ///< the same, as each caller sees it
    GrowthWords words_{};
    Mailbox mailbox_{};
    /// A caller's own, for the explorer takes every access for one that may write.
    std::uint32_t tables_[2][4] = {};
    // The host's own.
    std::uint32_t parts_ = 1;
    std::uint64_t refused_ = PartsAndBytes::kNoBytes;
};

struct Scenario {
    const char* name;
    std::uint64_t largest;
    std::uint64_t patience;
    std::vector<std::function<void(SmallPool&)>> threads;
    std::uint32_t parts_at_last;  ///< 0: it depends

    Result explore(const Mutation& mutation = {}) const {
        return SmallPool(largest, patience).explore(threads, parts_at_last, mutation);
    }
};

std::vector<Scenario> scenarios() {
    using P = SmallPool;
    return {
        {"one asks for a part",
         100,
         kForEver,
         {[](P& p) { p.must_get(1, 100); }, [](P& p) { p.serve(); }},
         2},
        {"one asks for two parts",
         100,
         kForEver,
         {[](P& p) {
              p.must_get(1, 100);
              p.must_get(2, 20);
          },
          [](P& p) {
              p.serve();
              p.serve();
          }},
         3},
        {"one asks for more than there is, and then for less",
         50,
         kForEver,
         {[](P& p) {
              p.must_not_get(1, 100);
              p.must_not_get(1, 200);
              p.must_get(1, 50);
          },
          [](P& p) {
              p.serve();
              p.serve();
          }},
         2},
        // Callers that both wait could wake one another without end; these look twice.
        {"two ask for a part, and the host is late",
         100,
         0,
         {[](P& p) {
              p.ask(1, 100);
              p.ask(1, 100);
          },
          [](P& p) {
              p.ask(1, 50);
              p.ask(1, 50);
          },
          [](P& p) { p.serve(); }},
         2},
        {"two ask, one of them for too much, and the host is late",
         50,
         0,
         {[](P& p) { p.ask(1, 100); },
          [](P& p) {
              p.ask(1, 50);
              p.ask(1, 50);
          },
          [](P& p) { p.serve(); }},
         0},
    };
}

TEST(GrowthExplorer, CallersSeePartsThatWereMade) {
    for (const Scenario& s : scenarios()) expect_nothing_found(s.explore(), s.name);
}

/// Breaks every source line of the protocol in every way that applies to it, one at a time.
TEST(GrowthExplorer, FindsFaults) {
    Places places;
    for (const Scenario& s : scenarios()) {
        add_places(places, s.explore(), {"growth_words.cuh"});
    }
    auto found = break_each(places,
                            [](const Mutation& m) {
                                for (const Scenario& s : scenarios()) {
                                    if (s.explore(m).found()) return std::string(s.name);
                                }
                                return std::string();
                            },
                            {Fault::no_acquire, Fault::no_release, Fault::lost});
    // Bringing and hearing an answer, and the messenger's role, which orders what messengers do
    // with the pool. Not found: a request that is posted twice, and a wait that is not remembered,
    // do no harm but work.
    EXPECT_EQ(found[Fault::no_acquire], 3U);
    EXPECT_EQ(found[Fault::no_release], 3U);
    EXPECT_EQ(found[Fault::lost], 5U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::growth_scenarios
