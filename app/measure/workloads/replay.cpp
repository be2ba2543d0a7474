#include <algorithm>
#include <optional>
#include <utility>

#include "allocators/measure/fragmentation.h"
#include "app/measure/workloads/pace.h"
#include "app/measure/workloads/task_run.h"
#include "app/measure/workloads/transfer.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Counts;
using allocators::Place;
using allocators::ReplayScript;
using allocators::Stamps;
using allocators::Work;
using allocators::Workload;

/// A script where it is run, and a slot for every block.
struct Script {
    Script(Place place, const ReplayScript& script)
        : steps(uploaded(place, script.steps)),
          first(uploaded(place, script.first)),
          largest(*std::max_element(script.sizes.begin(), script.sizes.end())),
          sizes(uploaded(place, script.sizes)),
          slots(place, script.sizes.size() * sizeof(void*)) {}

    Buffer steps;
    Buffer first;
    std::uint64_t largest;  ///< of the sizes
    Buffer sizes;
    Buffer slots;
};

/// A turn that replays a trace.
class Replay final : public TaskRun {
public:
    Replay(const Subject& subject, const Task& task, const allocators::Trace& trace)
        : TaskRun(subject, task),
          trace_(trace),
          callers_(std::min(trace.callers, subject.machine.resident_callers())) {}

private:
    void take() override {
        const allocators::TraceFacts facts = allocators::facts(trace_);
        make_pool(facts.largest, callers_);
        add_value("callers", callers_);

        prepare(trace_.events.size(), task_.pace);
        timed();
        warm_ = true;
        for (std::uint32_t i = 0; i < task_.iterations; ++i) {
            timed();
            if (pace_) add_behind(pace_->behind());
        }
        pace_.reset();
        counting_ = true;
        run(Stamps::whole);
        counting_ = false;
        const allocators::PoolUse end = pool_->use();
        if (end.known) add_value("end_external", allocators::external_fragmentation(end));
        const Counts counts = result_.counts;
        sweep(Stamps::whole);

        prepare(facts.peak_events);
        run(Stamps::whole);
        const allocators::PoolUse peak = pool_->use();
        if (peak.known) {
            add_value("peak_allocated_bytes", static_cast<double>(peak.allocated_bytes));
            add_value("peak_external", allocators::external_fragmentation(peak));
        }
        sweep(Stamps::whole);
        result_.counts = counts;
    }
    void clean_up() override {
        if (held_) pool_->run(rest(Stamps::none));
    }

    /// Makes the script of so many events.
    void prepare(std::size_t events, double pace = 0) {
        script_.reset();  // before there is another
        ReplayScript script = allocators::script_of(trace_, callers_, subject_.frees, events, pace);
        script_.emplace(subject_.machine.place(), script);
        if (pace > 0) pace_.emplace(subject_.machine.place(), std::move(script.due));
    }

    /// A replay that is timed, at its pace if it has one, and emptied.
    void timed() {
        add("ms", run(Stamps::ends));
        sweep(Stamps::ends);
    }
    void add_behind(const Behind& behind) {
        add_value("behind_p50", behind.median);
        add_value("behind_p99", behind.p99);
        add_value("behind_worst", behind.worst);
    }

    Workload replay(Stamps stamps) const {
        Workload launch = workload(Work::replay, stamps);
        launch.lanes = 1;
        launch.callers = callers_;
        launch.blocks = {.data = script_->slots.as<void*>(),
                         .slots = script_->slots.size() / sizeof(void*),
                         .min_bytes = 4,
                         .max_bytes = script_->largest,
                         .seed = 1,
                         .sizes = script_->sizes.as<std::uint64_t>()};
        launch.steps = script_->steps.as<std::uint32_t>();
        launch.first_step = script_->first.as<std::uint64_t>();
        return launch;
    }
    /// Checks and frees what the replay has left in the slots.
    Workload rest(Stamps stamps) const {
        Workload launch = replay(stamps);
        launch.work = Work::deallocate;
        launch.lanes = 32;
        launch.callers = static_cast<std::uint32_t>(launch.blocks.slots);
        return launch;
    }

    /// One replay in a pool that is empty, judged. @return milliseconds.
    double run(Stamps stamps) {
        pool_->reset();
        script_->slots.zero();
        held_ = true;
        Workload launch = replay(stamps);
        if (pace_) pace_->apply(launch);
        const double ms = pool_->run(launch);
        judge();
        return ms;
    }
    /// Empties the pool after a replay, judged.
    void sweep(Stamps stamps) {
        held_ = false;
        pool_->run(rest(stamps));
        judge();
    }

    const allocators::Trace& trace_;
    std::uint32_t callers_;
    std::optional<Script> script_;
    std::optional<Pace> pace_;  ///< of the timed replays
};

}  // namespace

TaskResult replay_trace(const Subject& subject, const Task& task, const allocators::Trace& trace) {
    return Replay(subject, task, trace).result();
}

}  // namespace heapwood::app
