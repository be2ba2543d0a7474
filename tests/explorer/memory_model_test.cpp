/// @file
/// The explorer itself: small programs of which C++ says what may come of them, and random ones of
/// which two ways of exploring must say the same.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "allocators/platform/atomic.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/memory.h"
#include "tests/seed.h"

namespace heapwood::tests::explorer {

namespace {

using Word = std::uint32_t;
using Ref = platform::AtomicRef<Word>;
using Outcome = std::vector<Word>;

/// Runs threads over x, y, z, which start as 0, and gathers what they leave in `out`.
class Litmus {
public:
    Word x = 0, y = 0, z = 0;
    alignas(16) Word payload = 0;
    std::array<Word, 4> out{};

    std::set<Outcome> outcomes(std::vector<std::function<void()>> threads, Bounds bounds = kAll,
                               const Mutation& mutation = {}) {
        std::set<Outcome> all;
        Program p;
        p.threads = std::move(threads);
        p.begin = [this] { out.fill(0); };
        p.finish = [&] { all.emplace(out.begin(), out.end()); };
        p.shared = [this] {
            std::uint64_t h = 0;
            for (const Word w : out) h = mix(h, w);
            return h;
        };
        result = explore(p, bounds, mutation);
        EXPECT_TRUE(result.complete || result.found());
        return all;
    }

    Result result;
    static constexpr Bounds kAll{.stale_reads = 100};
};

/// T0 counts in x, and then in y; T1 counts in y, and then looks at x. @return whether it can see
/// T0's count in y without that in x, if the latter comes late.
bool count_is_late(bool release) {
    Litmus m;
    const Site place = Site::current();
    const auto all = m.outcomes({[&] {
                                     Ref(m.x).count_relaxed(1, place);
                                     release ? Ref(m.y).add_acq_rel(1) : Ref(m.y).add_acquire(1);
                                 },
                                 [&] {
                                     m.out[0] = Ref(m.y).add_acquire(1);
                                     m.out[1] = Ref(m.x).add_acquire(0);
                                 }},
                                Litmus::kAll, {Fault::late, "memory_model_test.cpp", place.line()});
    return all.contains(Outcome{1, 0, 0, 0});
}

TEST(ExplorerMemory, AnAcquireOvertakesARelaxedCount) {
    EXPECT_TRUE(count_is_late(false));
    EXPECT_FALSE(count_is_late(true));
}

/// T0 writes x and then y; T1 reads y and then x. @return whether it can see y without x.
bool message_is_late(bool release, bool acquire) {
    Litmus m;
    const auto all =
        m.outcomes({[&] {
                        Ref(m.x).store_relaxed(1);
                        release ? Ref(m.y).store_release(1) : Ref(m.y).store_relaxed(1);
                    },
                    [&] {
                        m.out[0] = acquire ? Ref(m.y).load_acquire() : Ref(m.y).load_relaxed();
                        m.out[1] = Ref(m.x).load_relaxed();
                    }});
    EXPECT_TRUE(all.contains({0, 0, 0, 0}));
    EXPECT_TRUE(all.contains({0, 1, 0, 0}));
    EXPECT_TRUE(all.contains({1, 1, 0, 0}));
    return all.contains({1, 0, 0, 0});
}

TEST(ExplorerMemory, AcquireSeesWhatReleasePublished) {
    EXPECT_FALSE(message_is_late(true, true));
    EXPECT_TRUE(message_is_late(false, true));
    EXPECT_TRUE(message_is_late(true, false));
    EXPECT_TRUE(message_is_late(false, false));
}

TEST(ExplorerMemory, BothStoresMayBeOverlooked) {
    Litmus m;
    const auto all = m.outcomes({[&] {
                                     Ref(m.x).store_release(1);
                                     m.out[0] = Ref(m.y).load_acquire();
                                 },
                                 [&] {
                                     Ref(m.y).store_release(1);
                                     m.out[1] = Ref(m.x).load_acquire();
                                 }});
    EXPECT_EQ(all.size(), 4U);
    EXPECT_TRUE(all.contains({0, 0, 0, 0}));
}

TEST(ExplorerMemory, ReadersMayDisagreeOnTheOrderOfTwoStores) {
    Litmus m;
    const auto all =
        m.outcomes({[&] { Ref(m.x).store_release(1); }, [&] { Ref(m.y).store_release(1); },
                    [&] {
                        m.out[0] = Ref(m.x).load_acquire();
                        m.out[1] = Ref(m.y).load_acquire();
                    },
                    [&] {
                        m.out[2] = Ref(m.y).load_acquire();
                        m.out[3] = Ref(m.x).load_acquire();
                    }});
    EXPECT_EQ(all.size(), 16U);
}

TEST(ExplorerMemory, AnObjectNeverGoesBack) {
    Litmus m;
    const auto all = m.outcomes({[&] {
                                     Ref(m.x).store_relaxed(1);
                                     Ref(m.x).store_relaxed(2);
                                 },
                                 [&] {
                                     m.out[0] = Ref(m.x).load_relaxed();
                                     m.out[1] = Ref(m.x).load_relaxed();
                                 }});
    EXPECT_EQ(all.size(), 6U);
    for (const Outcome& o : all) EXPECT_LE(o[0], o[1]);
}

TEST(ExplorerMemory, UpdatesAreNotLostUnlessTorn) {
    Litmus m;
    unsigned line = 0;
    const auto add = [&] {
        line = __LINE__ + 1;
        m.out[thread()] = Ref(m.x).add_relaxed(1);
    };
    for (const Outcome& o : m.outcomes({add, add, add})) {
        EXPECT_EQ(std::set<Word>(o.begin(), o.begin() + 3), (std::set<Word>{0, 1, 2}));
    }
    const auto torn =
        m.outcomes({add, add}, Litmus::kAll, {Fault::torn, "memory_model_test.cpp", line});
    EXPECT_TRUE(torn.contains({0, 0, 0, 0}));
}

TEST(ExplorerMemory, CompareSwapFailsOnOldValuesAndSucceedsOnTheNewest) {
    Litmus m;
    const auto all = m.outcomes({[&] { Ref(m.x).store_relaxed(1); },
                                 [&] {
                                     Word expected = 1;
                                     m.out[0] = Ref(m.x).cas_relaxed(expected, 2) ? 1 : 0;
                                     m.out[1] = expected;
                                     m.out[2] = Ref(m.x).load_relaxed();
                                 }});
    EXPECT_EQ(all, (std::set<Outcome>{{0, 0, 0, 0}, {0, 0, 1, 0}, {1, 1, 2, 0}}));
}

/// T0 publishes x by y = 1, T1 changes y to 2 by `relay`, T2 acquires y.
bool passes_on(const std::function<void(Ref)>& relay) {
    Litmus m;
    const auto all = m.outcomes({[&] {
                                     Ref(m.x).store_relaxed(1);
                                     Ref(m.y).store_release(1);
                                 },
                                 [&] {
                                     if (Ref(m.y).load_relaxed() == 1) relay(Ref(m.y));
                                 },
                                 [&] {
                                     m.out[0] = Ref(m.y).load_acquire();
                                     m.out[1] = Ref(m.x).load_relaxed();
                                 }});
    EXPECT_TRUE(all.contains({2, 1, 0, 0}));
    return !all.contains({2, 0, 0, 0});
}

TEST(ExplorerMemory, AReleaseSequenceGoesOnThroughUpdatesOnly) {
    EXPECT_TRUE(passes_on([](Ref y) { y.add_relaxed(1); }));
    EXPECT_FALSE(passes_on([](Ref y) { y.store_relaxed(2); }));
    EXPECT_FALSE(passes_on([](Ref y) { y.store_release(2); }));
}

TEST(ExplorerMemory, AnUnpublishedPayloadIsARace) {
    for (const bool release : {true, false}) {
        Litmus m;
        m.outcomes({[&] {
                        access(&m.payload, 4);
                        release ? Ref(m.x).store_release(1) : Ref(m.x).store_relaxed(1);
                    },
                    [&] {
                        if (Ref(m.x).load_acquire() == 1) access(&m.payload, 4);
                    }});
        EXPECT_EQ(m.result.found(), !release) << m.result.finding;
    }
}

TEST(ExplorerMemory, AnAtomicAccessToAPayloadIsARace) {
    Litmus m;
    m.outcomes({[&] {
                    Ref(m.x).store_relaxed(1);
                    access(&m.payload, 4);
                },
                [&] {
                    if (Ref(m.x).load_relaxed() == 1) Ref(m.payload).load_relaxed();
                }});
    EXPECT_TRUE(m.result.found());
    EXPECT_NE(m.result.schedule.find("T1"), std::string::npos) << m.result.schedule;
}

TEST(ExplorerMemory, AnOperationThatWaitsForAnotherIsReported) {
    Litmus m;
    m.outcomes({[&] { Ref(m.x).store_relaxed(1); },
                [&] {
                    while (Ref(m.x).load_relaxed() == 0) {
                    }
                }},
               {.steps = 50});
    EXPECT_EQ(m.result.finding, "an operation does not end");
}

TEST(ExplorerMemory, FaultsAreFoundAtTheirLine) {
    Litmus m;
    unsigned line = 0;
    const std::vector<std::function<void()>> threads{[&] {
                                                         Ref(m.x).store_relaxed(1);
                                                         line = __LINE__ + 1;
                                                         Ref(m.y).store_release(1);
                                                         Ref(m.z).store_release(1);
                                                     },
                                                     [&] {
                                                         m.out[0] = Ref(m.y).load_acquire();
                                                         m.out[1] = Ref(m.x).load_relaxed();
                                                     }};
    const Outcome late{1, 0, 0, 0};
    EXPECT_FALSE(m.outcomes(threads).contains(late));
    for (unsigned i = 0; i < 2; ++i) {
        const Mutation fault{Fault::no_release, "memory_model_test.cpp", line + i};
        EXPECT_EQ(m.outcomes(threads, Litmus::kAll, fault).contains(late), i == 0);
    }
}

TEST(ExplorerMemory, EveryOrderIsExploredOnce) {
    // Without merging, the orders of n and k steps are (n + k choose n).
    Litmus m;
    const auto steps = [](Word& w, unsigned n) {
        return [&w, n] {
            for (unsigned i = 0; i < n; ++i) Ref(w).add_relaxed(1);
        };
    };
    m.outcomes({steps(m.x, 5), steps(m.y, 4)}, {.merge = false});
    EXPECT_EQ(m.result.executions, 126U);
    // With it, the states are pairs of positions.
    m.outcomes({steps(m.x, 5), steps(m.y, 4)});
    EXPECT_EQ(m.result.states, 30U);
    // Interrupted at most once: any of the two threads first, the other one from anywhere on.
    m.outcomes({steps(m.x, 5), steps(m.y, 4)}, {.preemptions = 0, .merge = false});
    EXPECT_EQ(m.result.executions, 2U);
}

/// A random program of `threads` threads of `length` operations each.
std::set<Outcome> random_program(std::uint64_t seed, const Bounds& bounds) {
    Litmus m;
    std::vector<std::function<void()>> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&m, seed, t] {
            std::mt19937_64 dice(seed * 3 + t);
            Word* const words[] = {&m.x, &m.y};
            for (unsigned i = 0; i < 3; ++i) {
                const Ref word(*words[dice() % 2]);
                const auto v = static_cast<Word>(dice() % 2 + 1 + t * 2);
                Word seen = 0;
                switch (dice() % 6) {
                    case 0:
                        seen = word.load_relaxed();
                        break;
                    case 1:
                        seen = word.load_acquire();
                        break;
                    case 2:
                        word.store_relaxed(v);
                        break;
                    case 3:
                        word.store_release(v);
                        break;
                    case 4:
                        seen = word.add_acq_rel(v);
                        break;
                    default:
                        word.cas_acquire(seen, v);
                }
                m.out[t] = m.out[t] * 17 + seen;
            }
        });
    }
    return m.outcomes(threads, bounds);
}

TEST(ExplorerMemory, MergingStatesLosesNothing) {
    const std::uint64_t seed = test_seed();
    for (std::uint64_t i = 0; i < 20; ++i) {
        const auto merged = random_program(seed + i, {.stale_reads = 100});
        const auto apart = random_program(seed + i, {.stale_reads = 100, .merge = false});
        EXPECT_EQ(merged, apart) << "program " << seed + i;
        EXPECT_FALSE(merged.empty());
    }
}

}  // namespace

}  // namespace heapwood::tests::explorer
