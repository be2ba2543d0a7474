#include "app/measure/replay.h"

#include <algorithm>
#include <memory>

#include "allocators/measure/fragmentation.h"
#include "allocators/memory/buffer.h"
#include "app/measure/task_run.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Counts;
using allocators::Place;
using allocators::ReplayScript;
using allocators::Stamps;
using allocators::Work;
using allocators::Workload;

template <class T>
Buffer uploaded(Place place, const std::vector<T>& values) {
    Buffer heap(place, values.size() * sizeof(T));
    heap.write(0, values.data(), heap.size());
    return heap;
}

/// A script where it is run, and a slot for every block.
class Script {
public:
    Script(Place place, const ReplayScript& script)
        : callers_(script.callers),
          steps_(uploaded(place, script.steps)),
          first_(uploaded(place, script.first)),
          largest_(*std::max_element(script.sizes.begin(), script.sizes.end())),
          sizes_(uploaded(place, script.sizes)),
          slots_(place, script.sizes.size() * sizeof(void*)) {}

    void clear_slots() { slots_.zero(); }
    Workload replay(Stamps stamps, Counts* counts) const {
        return {.work = Work::replay,
                .stamps = stamps,
                .by_warp = true,
                .count = false,
                .stop_at_refusal = false,
                .callers = callers_,
                .requests = 1,
                .round = 0,
                .threshold = 0,
                .blocks = {.data = slots_.as<void*>(),
                           .slots = slots_.size() / sizeof(void*),
                           .min_bytes = 4,
                           .max_bytes = largest_,
                           .seed = 1,
                           .sizes = sizes_.as<std::uint32_t>()},
                .counts = counts,
                .next_slot = nullptr,
                .refused = nullptr,
                .steps = steps_.as<std::uint32_t>(),
                .first_step = first_.as<std::uint64_t>()};
    }
    /// Checks and frees what the replay has left in the slots.
    Workload sweep(Stamps stamps, Counts* counts) const {
        Workload launch = replay(stamps, counts);
        launch.work = Work::deallocate;
        launch.by_warp = false;
        launch.callers = static_cast<std::uint32_t>(launch.blocks.slots);
        return launch;
    }

private:
    std::uint32_t callers_;
    Buffer steps_;
    Buffer first_;
    std::uint32_t largest_;  ///< of the sizes
    Buffer sizes_;
    Buffer slots_;
};

/// A turn that replays a trace.
class Replay final : public TaskRun {
public:
    Replay(WorkloadMachine& machine, MakePool make, bool frees, const Task& task,
           const allocators::Trace& trace, unsigned threads)
        : machine_(machine),
          make_(make),
          frees_(frees),
          task_(task),
          trace_(trace),
          threads_(threads),
          callers_(std::min(trace.callers, machine.resident_callers())),
          state_(machine.place(), sizeof(Counts)) {
        state_.zero();
    }

    TaskResult take() override {
        const allocators::TraceFacts facts = allocators::facts(trace_);
        pool_ = make_({.place = machine_.place(),
                       .bytes = task_.pool_bytes,
                       .largest_request = facts.largest,
                       .multiprocessors = machine_.multiprocessors(),
                       .callers = callers_,
                       .choices = task_.choices},
                      threads_);
        result_.pool_bytes = pool_->pool_bytes();
        add_value("callers", callers_);

        prepare(trace_.events.size());
        result_.metrics["ms"].cold.push_back(run(Stamps::ends, false));
        sweep(Stamps::ends);
        for (std::uint32_t i = 0; i < task_.iterations; ++i) {
            result_.metrics["ms"].warm.push_back(run(Stamps::ends, false));
            sweep(Stamps::ends);
        }
        run(Stamps::whole, true);
        const allocators::PoolUse end = pool_->use();
        if (end.known) add_value("end_external", allocators::external_fragmentation(end));
        const Counts counts = result_.counts;
        sweep(Stamps::whole);

        prepare(facts.peak_events);
        run(Stamps::whole, false);
        const allocators::PoolUse peak = pool_->use();
        if (peak.known) {
            add_value("peak_allocated_bytes", static_cast<double>(peak.allocated_bytes));
            add_value("peak_external", allocators::external_fragmentation(peak));
        }
        sweep(Stamps::whole);
        result_.counts = counts;
        return std::move(result_);
    }

    void clean_up() override {
        if (held_) pool_->run(script_->sweep(Stamps::none, state_.as<Counts>()));
    }
    Counts counts() const override { return result_.counts; }

private:
    void add_value(const char* metric, double value) {
        result_.metrics[metric].value.push_back(value);
    }

    /// Makes the script of so many events.
    void prepare(std::size_t events) {
        script_.reset();  // before there is another
        script_ = std::make_unique<Script>(machine_.place(),
                                           allocators::script_of(trace_, callers_, frees_, events));
    }

    /// One replay in a pool that is empty, judged. @return milliseconds.
    double run(Stamps stamps, bool count) {
        pool_->reset();
        script_->clear_slots();
        Workload launch = script_->replay(stamps, state_.as<Counts>());
        launch.count = count;
        held_ = true;
        const double ms = pool_->run(launch);
        look();
        return ms;
    }
    /// Empties the pool after a replay, judged.
    void sweep(Stamps stamps) {
        held_ = false;
        pool_->run(script_->sweep(stamps, state_.as<Counts>()));
        look();
    }
    void look() {
        state_.read(0, &result_.counts, sizeof(Counts));
        judge(result_.counts, true);
    }

    WorkloadMachine& machine_;
    MakePool make_;
    bool frees_;
    Task task_;
    const allocators::Trace& trace_;
    unsigned threads_;
    std::uint32_t callers_;
    Buffer state_;
    std::unique_ptr<WorkloadPool> pool_;
    std::unique_ptr<Script> script_;
    bool held_ = false;  ///< whether slots hold blocks that are in use
    TaskResult result_;
};

}  // namespace

TaskResult replay_trace(WorkloadMachine& machine, MakePool make, bool frees, const Task& task,
                        const allocators::Trace& trace, unsigned threads) {
    return attempt(
        [&] { return std::make_unique<Replay>(machine, make, frees, task, trace, threads); });
}

}  // namespace heapwood::app
