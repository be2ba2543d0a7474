/// @file
/// Tasks of `bench` on real allocators and on broken ones.
#include "app/measure/workloads/perform.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "allocators/memory/buffer.h"
#include "app/backends/workload_cpu.h"
#include "app/measure/engine/worker.h"
#include "app/measure/workloads/workload_worker.h"
#include "tests/app/measure/workloads/task_run.h"
#include "tests/app/revolving.h"

namespace heapwood::app {
namespace {

using allocators::Counts;
using allocators::PoolConfig;
using tests::Revolving;
using tests::run_on_cpu;

Task task(Procedure procedure, std::uint32_t callers, std::uint32_t requests) {
    Task t;
    t.procedure = procedure;
    t.callers = callers;
    t.requests = requests;
    t.pool_bytes = 1 << 20;
    t.iterations = 2;
    t.budget_ms = 1e9;
    return t;
}

TEST(Task, CountsWhatWasAskedAndFreed) {
    for (const char* allocator : {"cmalloc", "hybrid", "buddy", "cudamalloc", "atomicmalloc"}) {
        for (const Procedure procedure : {Procedure::allocate, Procedure::pairs, Procedure::cycle,
                                          Procedure::work, Procedure::access}) {
            const TaskResult result = run_on_cpu(allocator, task(procedure, 50, 4));
            EXPECT_EQ(result.outcome, Outcome::done) << allocator << result.message;
            EXPECT_EQ(result.counts, (Counts{200, 200, 0, 0})) << allocator;
            for (const auto& [metric, samples] : result.metrics) {
                EXPECT_EQ(samples.cold.size(), 1U) << metric;
                EXPECT_EQ(samples.warm.size(), 2U) << metric;
                EXPECT_TRUE(samples.value.empty()) << metric;
                for (const double ms : samples.warm) EXPECT_GE(ms, 0);
            }
        }
    }
}

TEST(Task, ProbabilityFreesWhatItHasTaken) {
    Task t = task(Procedure::probability, 400, 1);
    t.rounds = 32;
    t.threshold = 0.75F;
    const TaskResult result = run_on_cpu("cmalloc", t);
    EXPECT_EQ(result.outcome, Outcome::done) << result.message;
    EXPECT_EQ(result.counts.requests, result.counts.frees);
    // Of 12800 steps 3200 act, and all but the last of a caller take turns.
    EXPECT_NEAR(static_cast<double>(result.counts.requests), 1700, 250);
}

TEST(Task, MeasuresWhatItsBlocksTakeAndLeave) {
    Task t = task(Procedure::remains, 100, 1);
    t.min_bytes = t.max_bytes = 4;
    for (const char* allocator : {"cmalloc", "atomicmalloc"}) {
        const TaskResult result = run_on_cpu(allocator, t);
        EXPECT_EQ(result.outcome, Outcome::done) << result.message;
        // 4 of 16 bytes were asked for.
        EXPECT_EQ(result.metrics.at("internal").value, std::vector<double>{0.75}) << allocator;
        EXPECT_GE(result.metrics.at("external").value.at(0), 0) << allocator;
    }
    const TaskResult unknown = run_on_cpu("cudamalloc", t);
    EXPECT_EQ(unknown.outcome, Outcome::done);
    EXPECT_TRUE(unknown.metrics.empty());
}

TEST(Task, HoldsBlocksAllTheTime) {
    Task t = task(Procedure::allocate, 8, 1);
    t.min_bytes = t.max_bytes = 64 << 10;  // half of the pool
    EXPECT_EQ(run_on_cpu("cmalloc", t).outcome, Outcome::done);
    t.held_blocks = 600;  // more than half of it
    t.held_bytes = 1024;
    for (const char* allocator : {"cmalloc", "atomicmalloc"}) {
        EXPECT_EQ(run_on_cpu(allocator, t).outcome, Outcome::out_of_pool) << allocator;
    }
    t.min_bytes = t.max_bytes = 16;
    for (const char* allocator : {"cmalloc", "atomicmalloc", "hybrid"}) {
        const TaskResult result = run_on_cpu(allocator, t);
        EXPECT_EQ(result.outcome, Outcome::done) << allocator << result.message;
        EXPECT_EQ(result.counts.requests, 8U) << "those of the test alone";
    }
}

TEST(Task, StopsToIterateWhenItsTimeIsUp) {
    Task t = task(Procedure::allocate, 10, 1);
    t.iterations = 1000000;
    t.budget_ms = 0;
    const TaskResult result = run_on_cpu("cmalloc", t);
    EXPECT_EQ(result.metrics.at("alloc_ms").warm.size(), 1U);
}

TEST(Task, EmptiesThePoolOfAnAllocatorThatFreesNothing) {
    Task t = task(Procedure::cycle, 10, 10);
    t.min_bytes = t.max_bytes = 6 << 10;  // more than half of the pool in an iteration
    t.iterations = 5;
    const TaskResult result = run_on_cpu("atomicmalloc", t);
    EXPECT_EQ(result.outcome, Outcome::done) << result.message;
    EXPECT_EQ(result.metrics.at("ms").warm.size(), 5U);
}

TEST(Task, FillsAPoolToTheLastBlock) {
    Task t = task(Procedure::fill, 10, 1);
    t.min_bytes = t.max_bytes = 1024;
    for (const char* allocator : {"atomicmalloc", "buddy", "cmalloc"}) {
        const TaskResult result = run_on_cpu(allocator, t);
        EXPECT_EQ(result.outcome, Outcome::done) << result.message;
        EXPECT_EQ(result.metrics.at("utilisation_all").value, std::vector<double>{1}) << allocator;
        EXPECT_EQ(result.counts.requests - result.counts.failed, 1024U) << allocator;
        EXPECT_EQ(result.counts.frees, 1024U) << allocator;
        EXPECT_GE(result.counts.failed, 10U) << "every caller is refused";
    }
    // Blocks of 768 bytes leave the last of 1365 and a third unused.
    t.min_bytes = t.max_bytes = 768;
    const TaskResult result = run_on_cpu("atomicmalloc", t);
    EXPECT_EQ(result.metrics.at("utilisation_all").value,
              std::vector<double>{1365 * 768 / 1048576.0});
}

TEST(Task, MeasuresTheRangeOfAddresses) {
    Task t = task(Procedure::fragmentation, 100, 1);
    t.min_bytes = t.max_bytes = 96;
    t.rounds = 3;
    const TaskResult bump = run_on_cpu("atomicmalloc", t);
    ASSERT_EQ(bump.outcome, Outcome::done) << bump.message;
    EXPECT_EQ(bump.metrics.at("range_first").value, std::vector<double>{9600});
    EXPECT_EQ(bump.metrics.count("range_last"), 0U) << "nothing is freed";
    const TaskResult packed = run_on_cpu("", t);
    EXPECT_EQ(packed.metrics.at("range_first").value, std::vector<double>{9600});
    EXPECT_EQ(packed.metrics.at("range_last").value, std::vector<double>{9600});
    const TaskResult cmalloc = run_on_cpu("cmalloc", t);
    ASSERT_EQ(cmalloc.outcome, Outcome::done) << cmalloc.message;
    const double last = cmalloc.metrics.at("range_last").value.at(0);
    EXPECT_GE(last, 9600);
    EXPECT_LE(last, cmalloc.metrics.at("range_all").value.at(0));
    EXPECT_LE(cmalloc.metrics.at("range_all").value.at(0), 1 << 20);
    EXPECT_EQ(cmalloc.counts, (Counts{100, 100, 0, 0})) << "of the last round";
    // Each round is given the cells behind those of the last.
    t.pool_bytes = 64 << 10;
    t.min_bytes = t.max_bytes = 60;
    const auto machine = cpu_workloads(1);
    const TaskResult moving = perform(
        {.machine = *machine, .make = &make_pool<CpuWorkloadPool<Revolving>>, .threads = 1}, t);
    ASSERT_EQ(moving.outcome, Outcome::done) << moving.message;
    EXPECT_EQ(moving.metrics.at("range_first").value, std::vector<double>{100 * 64 - 4});
    EXPECT_EQ(moving.metrics.at("range_last").value, std::vector<double>{100 * 64 - 4});
    EXPECT_EQ(moving.metrics.at("range_all").value, std::vector<double>{300 * 64 - 4});
}

TEST(Task, DoesWithoutAnAllocator) {
    for (const Procedure procedure : {Procedure::work, Procedure::access}) {
        Task t = task(procedure, 1000, 1);
        t.max_bytes = 256;
        const TaskResult result = run_on_cpu("", t);
        EXPECT_EQ(result.outcome, Outcome::done) << result.message;
        EXPECT_EQ(result.metrics.size(), procedure == Procedure::work ? 1U : 2U);
    }
}

TEST(Task, SaysWhenThePoolRunsOut) {
    for (const Procedure procedure :
         {Procedure::allocate, Procedure::cycle, Procedure::work, Procedure::probability,
          Procedure::access, Procedure::fragmentation}) {
        Task t = task(procedure, 100, 1);
        t.min_bytes = t.max_bytes = 64 << 10;
        t.rounds = 4;
        if (procedure == Procedure::cycle) std::swap(t.callers, t.requests);
        for (const char* allocator : {"cmalloc", "cudamalloc"}) {
            const TaskResult result = run_on_cpu(allocator, t);
            EXPECT_EQ(result.outcome, Outcome::out_of_pool);
            EXPECT_NE(result.message.find("were refused"), std::string::npos) << result.message;
            EXPECT_GT(result.counts.failed, 0U);
            EXPECT_TRUE(result.metrics.empty());
        }
    }
    Task tiny = task(Procedure::allocate, 1, 1);
    tiny.pool_bytes = 16;
    const TaskResult result = run_on_cpu("cmalloc", tiny);
    EXPECT_EQ(result.outcome, Outcome::out_of_memory);
    EXPECT_NE(result.message.find("4096"), std::string::npos) << result.message;
}

TEST(Task, NoticesMemoryThatIsHandedOutTwice) {
    const auto machine = cpu_workloads(1);
    for (const Procedure procedure :
         {Procedure::allocate, Procedure::cycle, Procedure::work, Procedure::access,
          Procedure::fragmentation, Procedure::fill}) {
        // 64 cells.
        for (const std::uint32_t blocks : {64U, 65U}) {
            Task t = task(procedure, blocks, 1);
            t.pool_bytes = 4096;
            t.min_bytes = t.max_bytes = 64;
            if (procedure == Procedure::cycle) {
                t.callers = 1;
                t.requests = blocks;
            }
            // A pool that never refuses cannot be filled without handing out blocks twice.
            const bool sound = blocks == 64 && procedure != Procedure::fill;
            const TaskResult result = perform(
                {.machine = *machine, .make = &make_pool<CpuWorkloadPool<Revolving>>, .threads = 1},
                t);
            EXPECT_EQ(result.outcome, sound ? Outcome::done : Outcome::corrupt)
                << static_cast<int>(procedure) << " " << blocks << " " << result.message;
            EXPECT_EQ(result.metrics.empty(), !sound) << "a corrupt result is no figure";
        }
    }
}

TEST(Task, NeverThrows) {
    const auto machine = cpu_workloads(1);
    const auto outcome = [&](MakePool make_pool) {
        return perform({.machine = *machine, .make = make_pool, .threads = 1},
                       task(Procedure::allocate, 1, 1));
    };
    EXPECT_EQ(outcome([](const PoolConfig&, unsigned) -> std::unique_ptr<WorkloadPool> {
                  throw allocators::BufferError("no memory of that kind");
              }).outcome,
              Outcome::out_of_memory);
    const TaskResult failed =
        outcome([](const PoolConfig&, unsigned) -> std::unique_ptr<WorkloadPool> {
            throw std::runtime_error("CUDA: no such thing");
        });
    EXPECT_EQ(failed.outcome, Outcome::failed);
    EXPECT_EQ(failed.message, "CUDA: no such thing");
}

TEST(Task, SurvivesJson) {
    Task t = task(Procedure::probability, 3, 4);
    t.lanes = 7;
    t.held_blocks = 8;
    t.held_bytes = 9;
    t.rounds = 5;
    t.min_bytes = 8;
    t.max_bytes = 12;
    t.threshold = 0.75F;
    t.seed = ~std::uint64_t{0};
    const Task copy = Json::parse(Json(t).dump());
    EXPECT_EQ(Json(copy), Json(t));
    EXPECT_EQ(copy.seed, t.seed);
    const TaskResult result{.outcome = Outcome::out_of_pool,
                            .message = "why",
                            .counts = {1, 2, 3, 4},
                            .metrics = {{"ms", {.cold = {0.25}, .warm = {1, 2}, .value = {}}}}};
    const TaskResult read = Json::parse(Json(result).dump());
    EXPECT_EQ(read.outcome, result.outcome);
    EXPECT_EQ(read.message, result.message);
    EXPECT_EQ(read.counts, result.counts);
    EXPECT_EQ(read.metrics, result.metrics);
}

}  // namespace
}  // namespace heapwood::app
