#include "app/measure/task.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "allocators/memory/buffer.h"
#include "allocators/platform/bits.cuh"
#include "app/measure/task_run.h"

namespace heapwood::app {
namespace {

using allocators::Blocks;
using allocators::Buffer;
using allocators::Counts;
using allocators::Stamps;
using allocators::Work;
using allocators::Workload;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// How many slots a task needs with a pool of so many bytes.
std::uint64_t slots_of(const Task& task, std::uint64_t pool_bytes) {
    const std::uint64_t callers = task.callers;
    if (task.procedure == Procedure::fill) {
        // As many blocks as the pool can hold, and a slot for every caller that is refused, so that
        // whoever finds no slot has found the allocator handing blocks out twice.
        const std::uint64_t size = std::max<std::uint64_t>(task.min_bytes, allocators::kAlignment);
        return platform::ceil_div(pool_bytes / size + 2 * callers, callers) * callers;
    }
    return one_block_each(task.procedure) ? callers : callers * task.requests;
}

/// A turn that measures synthetic requests.
class WorkloadRun final : public TaskRun {
public:
    WorkloadRun(WorkloadMachine& machine, MakePool make, bool frees, const Task& task,
                unsigned threads)
        : machine_(machine),
          make_(make),
          frees_(frees),
          task_(task),
          threads_(threads),
          state_(machine.place(), sizeof(State)) {
        state_.zero();
    }

    TaskResult take() override {
        if (make_ != nullptr) {
            const auto start = Clock::now();
            pool_ = make_(config(), threads_);
            if (task_.procedure == Procedure::make) add_value("make_ms", since(start));
            result_.pool_bytes = pool_->pool_bytes();
        }
        slots_ = slots_of(task_, result_.pool_bytes);
        data_ = Buffer(machine_.place(), slots_ * sizeof(void*));
        data_.zero();
        hold();
        switch (task_.procedure) {
            case Procedure::make:
                reset();
                break;
            case Procedure::fill:
                fill();
                break;
            case Procedure::fragmentation:
                spread();
                break;
            case Procedure::remains:
                remains();
                break;
            default:
                iterate();
        }
        release();
        return std::move(result_);
    }

    void clean_up() override {
        if (pool_ && held_) free_all(Stamps::none);
        release();
    }
    Counts counts() const override { return result_.counts; }

private:
    /// What launches write besides blocks.
    struct State {
        Counts counts;
        std::uint64_t next_slot;
        std::uint32_t refused;
        std::uint32_t unused;
    };

    allocators::PoolConfig config() const {
        return {.place = machine_.place(),
                .bytes = task_.pool_bytes,
                .largest_request = task_.max_bytes,
                .multiprocessors = machine_.multiprocessors(),
                .callers = std::min(task_.callers, machine_.threads()),
                .choices = task_.choices};
    }

    Blocks blocks() const {
        return {.data = data_.as<void*>(),
                .slots = slots_,
                .min_bytes = task_.min_bytes,
                .max_bytes = task_.max_bytes,
                .seed = task_.seed};
    }
    Workload workload(Work work, Stamps stamps) const {
        State* state = state_.as<State>();
        return {.work = work,
                .stamps = stamps,
                .by_warp = task_.by_warp,
                .lanes = task_.lanes,
                .count = counting_,
                .stop_at_refusal = false,
                .callers = task_.callers,
                .requests = task_.requests,
                .round = 0,
                .threshold = task_.threshold,
                .blocks = blocks(),
                .counts = &state->counts,
                .next_slot = &state->next_slot,
                .refused = &state->refused};
    }
    State state() const {
        State state;
        state_.read(0, &state, sizeof(state));
        return state;
    }
    void add(const char* metric, double value) {
        Samples& samples = result_.metrics[metric];
        (warm_ ? samples.warm : samples.cold).push_back(value);
    }
    void add_value(const char* metric, double value) {
        result_.metrics[metric].value.push_back(value);
    }

    /// @throws Stop, as app::judge does.
    void judge(bool refusals) {
        result_.counts = state().counts;
        app::judge(result_.counts, refusals);
    }

    void touch(bool write, const char* metric) {
        const double ms = machine_.touch(
            {.write = write, .blocks = blocks(), .counts = &state_.as<State>()->counts});
        if (metric != nullptr) add(metric, ms);
    }
    /// Stamps all blocks, and checks them; timed if these are `metrics`.
    void touch_all(bool metrics) {
        touch(true, metrics ? "write_ms" : nullptr);
        touch(false, metrics ? "read_ms" : nullptr);
    }

    /// Allocates, or does without an allocator. @return milliseconds.
    double allocate() {
        if (!pool_) return machine_.place_by_prefix_sum(blocks());
        held_ = true;
        return pool_->run(workload(Work::allocate, Stamps::none));
    }
    double deallocate() { return pool_ ? free_all(Stamps::none) : machine_.release_placed(); }

    /// Frees the blocks of all slots. @return milliseconds.
    double free_all(Stamps stamps) {
        Workload launch = workload(Work::deallocate, stamps);
        launch.requests = static_cast<std::uint32_t>(slots_ / task_.callers);
        held_ = false;
        return pool_->run(launch);
    }

    /// Allocates or frees the blocks that are held all the time, one a thread.
    void run_held(Work work) {
        Workload launch = workload(work, Stamps::none);
        launch.by_warp = false;
        launch.lanes = 32;
        launch.count = false;
        launch.callers = task_.held_blocks;
        launch.requests = 1;
        launch.blocks = {.data = held_data_.as<void*>(),
                         .slots = task_.held_blocks,
                         .min_bytes = task_.held_bytes,
                         .max_bytes = task_.held_bytes,
                         .seed = task_.seed};
        pool_->run(launch);
    }
    void hold() {
        if (task_.held_blocks == 0 || !pool_) return;
        held_data_ = Buffer(machine_.place(), task_.held_blocks * sizeof(void*));
        held_data_.zero();
        run_held(Work::allocate);
        judge(true);
    }
    void release() {
        if (frees_ && pool_ && held_data_.size() != 0) run_held(Work::deallocate);
        held_data_ = {};
    }

    /// One iteration, judged.
    void iteration() {
        // All of a block where nothing is timed; within a timed launch its ends.
        const Stamps stamps = counting_ ? Stamps::whole : Stamps::ends;
        switch (task_.procedure) {
            case Procedure::pairs:
                add("ms", pool_->run(workload(Work::pairs, stamps)));
                break;
            case Procedure::cycle:
                add("ms", pool_->run(workload(Work::cycle, stamps)));
                break;
            case Procedure::probability: {
                double ms = 0;
                held_ = true;
                for (std::uint32_t round = 0; round < task_.rounds; ++round) {
                    Workload launch = workload(Work::probability, stamps);
                    launch.round = round;
                    ms += pool_->run(launch);
                }
                add("ms", ms);
                judge(true);
                free_all(stamps);
                data_.zero();
                break;
            }
            case Procedure::work: {
                double ms = allocate();
                // The time between the launches is not part of the sum.
                if (counting_) touch_all(false);
                ms += deallocate();
                add("ms", ms);
                break;
            }
            default: {
                const bool access = task_.procedure == Procedure::access;
                const double ms = allocate();
                if (!access) add("alloc_ms", ms);
                touch_all(access);
                judge(true);
                const double freed = deallocate();
                if (!access && frees_) add("free_ms", freed);
            }
        }
        judge(true);
        if (pool_ && !frees_) {
            pool_->reset();
            hold();
        }
    }

    /// The cold iteration, warm ones, and one that is counted and checked in full.
    void iterate() {
        const auto start = Clock::now();
        iteration();
        warm_ = true;
        for (std::uint32_t i = 0; i < task_.iterations; ++i) {
            if (i > 0 && since(start) > task_.budget_ms) break;
            iteration();
        }
        const auto measured = result_.metrics;
        counting_ = true;
        iteration();
        result_.metrics = measured;
    }

    /// Over how many bytes the blocks of all slots are spread, from the first to the end of the
    /// last.
    struct Range {
        std::uint64_t begin = ~std::uint64_t{0};
        std::uint64_t end = 0;

        double bytes() const { return static_cast<double>(end - begin); }
    };
    Range range() const {
        std::vector<std::uint64_t> addresses(slots_);
        data_.read(0, addresses.data(), slots_ * sizeof(void*));
        Range range;
        for (std::uint64_t slot = 0; slot < slots_; ++slot) {
            range.begin = std::min(range.begin, addresses[slot]);
            range.end = std::max(range.end, addresses[slot] + blocks().bytes(slot));
        }
        return range;
    }
    /// An allocator that frees nothing has one round only: a later one has no meaning.
    void spread() {
        const std::uint32_t rounds = frees_ ? task_.rounds : 1;
        Range all;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            counting_ = round + 1 == rounds;
            allocate();
            touch_all(false);
            judge(true);
            const Range now = range();
            all = {std::min(all.begin, now.begin), std::max(all.end, now.end)};
            if (round == 0) add_value("range_first", now.bytes());
            if (frees_ && round + 1 == rounds) {
                add_value("range_last", now.bytes());
                add_value("range_all", all.bytes());
            }
            deallocate();
        }
        judge(true);
    }

    /// What AD leaves when all is free; then what its blocks take, all at once.
    void remains() {
        counting_ = true;
        pool_->run(workload(Work::pairs, Stamps::whole));
        judge(true);
        const double external = allocators::external_fragmentation(pool_->use());
        if (external >= 0) add_value("external", external);
        if (!frees_) pool_->reset();
        allocate();
        touch_all(false);
        judge(true);
        const allocators::PoolUse use = pool_->use();
        if (use.known && use.allocated_bytes != 0) {
            const double asked = static_cast<double>(slots_) * task_.min_bytes;
            add_value("internal", 1 - asked / static_cast<double>(use.allocated_bytes));
        }
        deallocate();
        judge(true);
    }

    void fill() {
        counting_ = true;
        for (const bool all : {false, true}) {
            Workload launch = workload(Work::fill, Stamps::none);
            launch.stop_at_refusal = !all;
            pool_->run(launch);
            const State seen = state();
            const double bytes = static_cast<double>(seen.counts.requests - seen.counts.failed) *
                                 static_cast<double>(task_.min_bytes);
            add_value(all ? "utilisation_all" : "utilisation",
                      bytes / static_cast<double>(pool_->pool_bytes()));
        }
        judge(false);
        touch_all(false);
        judge(false);
        free_all(Stamps::none);
        judge(false);
    }

    void reset() {
        add_value("overhead_bytes", static_cast<double>(pool_->overhead_bytes()));
        for (std::uint32_t i = 0; i < task_.iterations; ++i) {
            const auto start = Clock::now();
            pool_->reset();
            add_value("reset_ms", since(start));
        }
    }

    WorkloadMachine& machine_;
    MakePool make_;
    bool frees_;
    Task task_;
    unsigned threads_;
    std::uint64_t slots_ = 0;
    Buffer data_;
    Buffer held_data_;
    Buffer state_;
    std::unique_ptr<WorkloadPool> pool_;
    bool held_ = false;  ///< whether slots hold blocks that are in use
    bool warm_ = false;
    bool counting_ = false;
    TaskResult result_;
};

}  // namespace

TaskResult perform(WorkloadMachine& machine, MakePool make, bool frees, const Task& task,
                   unsigned threads) {
    return attempt(
        [&] { return std::make_unique<WorkloadRun>(machine, make, frees, task, threads); });
}

}  // namespace heapwood::app
