/// @file
/// Bulk semaphores, step by step: two and three threads that wait, produce, fail to, and signal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "allocators/bulkalloc/semaphore.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::bulk_semaphore_scenarios {

namespace {

using allocators::bulkalloc::available;
using allocators::bulkalloc::Count;
using allocators::bulkalloc::make_count;
using allocators::bulkalloc::prospects;
using allocators::bulkalloc::Wait;

struct PatientPolicy {
    static constexpr std::uint32_t kPatience = 100;
    static void pause() {}
};

/// A semaphore, and what somebody makes before signalling.
class Subject {
public:
    static constexpr std::uint32_t kBatch = 2;

    /// With units that are there, and units that are promised.
    Subject(std::uint32_t units, std::uint32_t promised)
        : word_(make_count(units) + promised), at_first_(units) {}

    /// Waits for a unit, and produces if it must.
    void get() {
        const Wait got = wait(kBatch);
        if (got == Wait::none) fail("a thread that produces gets nothing");
        if (got == Wait::produce) bring(kBatch - 1, kBatch - 1);
    }
    /// The same, but fails to produce.
    void get_or_fail() {
        if (wait(kBatch) != Wait::produce) return;
        begin_operation("cancel", kBatch - 1);
        semaphore_.cancel(kBatch - 1);
        end_operation(0);
    }
    /// Waits for a unit that is there or promised, and must get it.
    void must_get() {
        if (wait(0) != Wait::acquired) fail("a unit that was promised is not waited for");
    }
    /// Makes something that whoever gets a unit may use, and signals.
    void bring(std::uint32_t n, std::uint32_t expected) {
        begin_operation("signal", n);
        access(&made_[thread()], sizeof(made_[0]));
        semaphore_.signal(n, expected);
        balance_[thread()] += n;
        end_operation(0);
    }
    /// Gets a unit, if it is there, and uses what thread 0 has made.
    void use() {
        begin_operation("take", 1);
        const bool taken = semaphore_.take(1, 1);
        if (taken) access(&made_[0], sizeof(made_[0]));
        balance_[thread()] -= taken ? 1 : 0;
        end_operation(taken);
    }
    /// Promises a unit above, takes the one that is there to make it of, fails, and puts it back.
    void merge_and_fail() {
        begin_operation("merge", 1);
        const Semaphore above(above_);
        above.expect(1);
        if (semaphore_.take(1, 1)) semaphore_.signal(1, 0);
        above.cancel(1);
        end_operation(0);
    }
    /// Gets a unit, or, if none is there, waits above for what another makes of it. A wait that
    /// ends with nothing has seen that promise broken, and so finds the unit.
    void get_here_or_above() {
        begin_operation("get", 1);
        bool taken = semaphore_.take(1, 1);
        if (!taken) {
            const Semaphore above(above_);
            if (above.wait(1, 1) != Wait::produce) fail("what was never made is had");
            taken = semaphore_.take(1, 1);
        }
        if (!taken) fail("a unit that is back before a promise is broken is not found");
        semaphore_.signal(1, 0);
        end_operation(0);
    }
    void take_some(std::uint32_t n, std::uint32_t kept) {
        begin_operation("take_some", n);
        const std::uint32_t taken = semaphore_.take_some(n, kept);
        balance_[thread()] -= taken;
        end_operation(taken);
    }

    Result explore(const std::vector<std::function<void(Subject&)>>& threads,
                   const Mutation& mutation = {}) {
        Program program;
        for (const auto& t : threads) program.threads.emplace_back([this, &t] { t(*this); });
        program.begin = [this] { std::fill(std::begin(balance_), std::end(balance_), 0); };
        program.shared = [this] {
            std::uint64_t all = 0;
            for (const std::int64_t b : balance_)
                all = all * 64 + static_cast<std::uint64_t>(b + 9);
            return all;
        };
        program.finish = [this] {
            const Aside aside;
            std::int64_t expected = at_first_;
            for (const std::int64_t b : balance_) expected += b;
            if (available(word_) != expected) fail("units are lost, or come from nowhere");
            if (prospects(word_) != expected) fail("a promise or a reservation is left");
        };
        return explorer::explore(program, {.stale_reads = 1}, mutation);
    }

private:
    using Semaphore = allocators::bulkalloc::Semaphore<PatientPolicy>;

    Wait wait(std::uint32_t batch) {
        begin_operation("wait", batch);
        const Wait got = semaphore_.wait(1, batch);
        balance_[thread()] -= got == Wait::acquired ? 1 : 0;
        end_operation(static_cast<std::uint64_t>(got));
        return got;
    }

    alignas(16) Count word_;
    Semaphore semaphore_{word_};
    alignas(16) Count above_ = make_count(0);
    alignas(16) std::uint32_t made_[4][4] = {};
    std::int64_t at_first_;
    std::int64_t balance_[4] =
        {};  ///< of each thread, the units that it brought less those it took
};

struct SemaphoreScenario {
    const char* name;
    std::uint32_t units;
    std::uint32_t promised;
    std::vector<std::function<void(Subject&)>> threads;
};

std::vector<SemaphoreScenario> scenarios() {
    using T = Subject;
    const auto get = [](T& t) { t.get(); };
    return {
        {"two want a unit", 0, 0, {get, get}},
        {"three want a unit, and one is there", 1, 0, {get, get, get}},
        {"one that has promised fails as others wait",
         0,
         0,
         {get, [](T& t) { t.get_or_fail(); }, get}},
        {"a unit that is promised comes",
         0,
         1,
         {[](T& t) { t.bring(1, 1); }, [](T& t) { t.must_get(); }}},
        {"who gets a unit sees what it is for",
         0,
         0,
         {[](T& t) { t.bring(1, 0); }, [](T& t) { t.use(); }}},
        {"who sees a promise broken finds what was put back before",
         1,
         0,
         {[](T& t) { t.merge_and_fail(); }, [](T& t) { t.get_here_or_above(); }}},
        {"some units are taken as others are wanted",
         3,
         0,
         {[](T& t) { t.take_some(2, 1); }, get, get}},
    };
}

TEST(BulkSemaphoreExplorer, IsSound) {
    for (const SemaphoreScenario& s : scenarios()) {
        expect_nothing_found(Subject(s.units, s.promised).explore(s.threads), s.name);
    }
}

TEST(BulkSemaphoreExplorer, FindsFaults) {
    Places places;
    for (const SemaphoreScenario& s : scenarios()) {
        add_places(places, Subject(s.units, s.promised).explore(s.threads), {"semaphore.cuh"});
    }
    auto found = break_each(places, [](const Mutation& m) {
        for (const SemaphoreScenario& s : scenarios()) {
            const Result r = Subject(s.units, s.promised).explore(s.threads, m);
            if (r.found()) return std::string(s.name);
        }
        return std::string();
    });
    // The acquire of a promise matters where a relaxed write comes late, which no semaphore alone
    // shows: BulkAllocExplorer.LateWritesAreHarmless.
    EXPECT_EQ(found[Fault::none], 1U);
    // Getting a unit, and being told to produce.
    EXPECT_EQ(found[Fault::no_acquire], 2U);
    // Signalling, and taking a promise back.
    EXPECT_EQ(found[Fault::no_release], 2U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::bulk_semaphore_scenarios
