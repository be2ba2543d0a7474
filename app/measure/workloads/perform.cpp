#include "app/measure/workloads/perform.h"

#include <algorithm>

#include "allocators/measure/fragmentation.h"
#include "allocators/platform/bits.cuh"
#include "app/measure/workloads/task_run.h"

namespace heapwood::app {
namespace {

using allocators::Blocks;
using allocators::Buffer;
using allocators::Stamps;
using allocators::Work;
using allocators::Workload;

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
    using TaskRun::TaskRun;

private:
    void take() override {
        if (subject_.make != nullptr) {
            const auto start = Clock::now();
            make_pool(task_.max_bytes, std::min(task_.callers, subject_.machine.threads()));
            if (task_.procedure == Procedure::make) add_value("make_ms", ms_since(start));
        }
        slots_ = slots_of(task_, result_.pool_bytes);
        data_ = Buffer(subject_.machine.place(), slots_ * sizeof(void*));
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
                iterate([this] { iteration(); });
        }
        release();
    }
    void clean_up() override {
        if (pool_ && held_) free_all(Stamps::none);
        release();
    }

    Blocks blocks() const {
        return {.data = data_.as<void*>(),
                .slots = slots_,
                .min_bytes = task_.min_bytes,
                .max_bytes = task_.max_bytes,
                .seed = task_.seed};
    }
    Workload launch(Work work, Stamps stamps = Stamps::none) const {
        Workload launch = workload(work, stamps);
        launch.blocks = blocks();
        return launch;
    }

    void touch(bool write, const char* metric) {
        const double ms = subject_.machine.touch(
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
        if (!pool_) return subject_.machine.place_by_prefix_sum(blocks());
        held_ = true;
        return pool_->run(launch(Work::allocate));
    }
    double deallocate() {
        return pool_ ? free_all(Stamps::none) : subject_.machine.release_placed();
    }

    /// Frees the blocks of all slots. @return milliseconds.
    double free_all(Stamps stamps) {
        Workload all = launch(Work::deallocate, stamps);
        all.requests = static_cast<std::uint32_t>(slots_ / task_.callers);
        held_ = false;
        return pool_->run(all);
    }

    /// Allocates or frees the blocks that are held all the time, one a thread.
    void run_held(Work work) {
        Workload held = launch(work);
        held.lanes = 32;
        held.count = false;
        held.callers = task_.held_blocks;
        held.requests = 1;
        held.blocks.data = held_data_.as<void*>();
        held.blocks.slots = task_.held_blocks;
        held.blocks.min_bytes = held.blocks.max_bytes = task_.held_bytes;
        pool_->run(held);
    }
    void hold() {
        if (task_.held_blocks == 0 || !pool_) return;
        held_data_ = Buffer(subject_.machine.place(), task_.held_blocks * sizeof(void*));
        held_data_.zero();
        run_held(Work::allocate);
        judge();
    }
    void release() {
        if (subject_.frees && pool_ && held_data_.size() != 0) run_held(Work::deallocate);
        held_data_ = {};
    }

    /// One iteration, judged.
    void iteration() {
        // All of a block where nothing is timed; within a timed launch its ends.
        const Stamps stamps = counting_ ? Stamps::whole : Stamps::ends;
        switch (task_.procedure) {
            case Procedure::pairs:
                add("ms", pool_->run(launch(Work::pairs, stamps)));
                break;
            case Procedure::cycle:
                add("ms", pool_->run(launch(Work::cycle, stamps)));
                break;
            case Procedure::probability: {
                Workload steps = launch(Work::probability, stamps);
                double ms = 0;
                held_ = true;
                for (; steps.round < task_.rounds; ++steps.round) ms += pool_->run(steps);
                add("ms", ms);
                judge();
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
                judge();
                const double freed = deallocate();
                if (!access && subject_.frees) add("free_ms", freed);
            }
        }
        judge();
        if (pool_ && !subject_.frees) {
            pool_->reset();
            hold();
        }
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
        const std::uint32_t rounds = subject_.frees ? task_.rounds : 1;
        Range all;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            counting_ = round + 1 == rounds;
            allocate();
            touch_all(false);
            judge();
            const Range now = range();
            all = {std::min(all.begin, now.begin), std::max(all.end, now.end)};
            if (round == 0) add_value("range_first", now.bytes());
            if (subject_.frees && round + 1 == rounds) {
                add_value("range_last", now.bytes());
                add_value("range_all", all.bytes());
            }
            deallocate();
        }
        judge();
    }

    /// What AD leaves when all is free; then what its blocks take, all at once.
    void remains() {
        counting_ = true;
        pool_->run(launch(Work::pairs, Stamps::whole));
        judge();
        const double external = allocators::external_fragmentation(pool_->use());
        if (external >= 0) add_value("external", external);
        if (!subject_.frees) pool_->reset();
        allocate();
        touch_all(false);
        judge();
        const allocators::PoolUse use = pool_->use();
        if (use.known && use.allocated_bytes != 0) {
            const double asked = static_cast<double>(slots_) * task_.min_bytes;
            add_value("internal", 1 - asked / static_cast<double>(use.allocated_bytes));
        }
        deallocate();
        judge();
    }

    void fill() {
        counting_ = true;
        for (const bool all : {false, true}) {
            Workload requests = launch(Work::fill);
            requests.stop_at_refusal = !all;
            pool_->run(requests);
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
            add_value("reset_ms", ms_since(start));
        }
    }

    std::uint64_t slots_ = 0;
    Buffer data_;
    Buffer held_data_;
};

}  // namespace

TaskResult perform(const Subject& subject, const Task& task) {
    if (has_live_set(task.procedure)) return keep_live(subject, task);
    if (has_graph(task.procedure)) return keep_graph(subject, task);
    return WorkloadRun(subject, task).result();
}

}  // namespace heapwood::app
