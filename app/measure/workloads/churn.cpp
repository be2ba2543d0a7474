/// @file
/// Turns with a live set that stays: Procedure::churn and Procedure::aged.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "allocators/measure/fragmentation.h"
#include "allocators/platform/bits.cuh"
#include "app/base/text.h"
#include "app/inputs/request_sizes.h"
#include "app/measure/workloads/task_run.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Churn;
using allocators::Latencies;
using allocators::LiveBlock;
using allocators::Stamps;
using allocators::Tickets;

/// A turn that replaces blocks of a live set.
class ChurnRun final : public TaskRun {
public:
    using TaskRun::TaskRun;

private:
    void take() override {
        sizes_ = subject_.trace != nullptr ? sizes_of(*subject_.trace)
                                           : power_law_sizes(task_.min_bytes, task_.max_bytes);
        make_pool(sizes_.back(), std::min(task_.callers, subject_.machine.threads()));
        lay_table();
        const bool aged = task_.procedure == Procedure::aged;
        churn(aged ? Stamps::whole : Stamps::ends);  // fills the table
        for (std::uint32_t round = 0; round < task_.rounds; ++round) {
            churn(aged ? Stamps::whole : Stamps::ends);
        }
        if (!aged) time_calls();
        measure_pool();
        drain();
        const allocators::Counts& seen = result_.counts;
        add_value("refused",
                  100 * static_cast<double>(seen.failed) / static_cast<double>(seen.requests));
        if (seen.frees != seen.requests - seen.failed) {
            throw Failure{Outcome::corrupt, "blocks of the live set were lost"};
        }
    }
    void clean_up() override {
        if (pool_ && held_) drain();
    }

    /// As many slots as blocks of the mean size make the share of the pool that is to be live.
    void lay_table() {
        const double mean =
            std::accumulate(sizes_.begin(), sizes_.end(), 0.0) / static_cast<double>(sizes_.size());
        const double wanted = static_cast<double>(pool_->pool_bytes()) * task_.live / 100;
        const double slots = std::min<double>(
            wanted / mean, std::numeric_limits<std::uint32_t>::max() - task_.callers);
        churn_.slots = static_cast<std::uint32_t>(slots);
        if (churn_.slots < task_.callers) {
            throw Failure{Outcome::out_of_pool,
                          "a live set of " + grouped(churn_.slots) + " blocks, " +
                              bytes_text(static_cast<std::uint64_t>(mean)) +
                              " each on average, is less than the " + grouped(task_.callers) +
                              " callers; try a larger --pool"};
        }
        const allocators::Place place = subject_.machine.place();
        const std::uint64_t records = std::uint64_t{churn_.slots} + task_.callers;
        std::vector<std::uint32_t> numbers(records);
        std::iota(numbers.begin(), numbers.end(), 0U);
        table_ = Buffer(place, records * sizeof(std::uint32_t));
        table_.write(0, numbers.data(), table_.size());
        records_ = Buffer(place, records * sizeof(LiveBlock));
        records_.zero();
        size_table_ = Buffer(place, sizes_.size() * sizeof(std::uint32_t));
        size_table_.write(0, sizes_.data(), size_table_.size());
        churn_.lanes = task_.lanes;
        churn_.callers = task_.callers;
        churn_.steps = platform::ceil_div(churn_.slots, task_.callers);
        churn_.tickets = {.sizes = size_table_.as<std::uint32_t>(), .seed = task_.seed};
        churn_.table = table_.as<std::uint32_t>();
        churn_.spares = churn_.table + churn_.slots;
        churn_.records = records_.as<LiveBlock>();
        churn_.counts = &state_.as<State>()->counts;
    }

    /// As many requests as there are slots. @return milliseconds.
    double churn(Stamps stamps) {
        churn_.stamps = stamps;
        held_ = true;
        const double ms = pool_->churn(churn_);
        churn_.first_step += churn_.steps;
        judge(false);
        return ms;
    }

    /// Frees all blocks.
    void drain() {
        Churn all = churn_;
        all.drain = true;
        all.first_step = 0;
        held_ = false;
        pool_->churn(all);
        judge(false);
    }

    /// Times launches, and in others, which the clocks slow down, their calls; then checks all of
    /// the blocks of one.
    void time_calls() {
        Buffer latencies(subject_.machine.place(), 2 * sizeof(Latencies));
        latencies.zero();
        const auto start = Clock::now();
        for (std::uint32_t i = 0; i < task_.iterations; ++i) {
            if (i > 0 && ms_since(start) > task_.budget_ms) break;
            const double pairs = static_cast<double>(churn_.steps) * churn_.callers;
            add_value("rate", pairs / (1000 * churn(Stamps::ends)));
            churn_.allocations = latencies.as<Latencies>();
            churn_.frees = churn_.allocations + 1;
            churn(Stamps::ends);
            churn_.allocations = churn_.frees = nullptr;
        }
        churn(Stamps::whole);
        for (const bool frees : {false, true}) {
            Latencies of;
            latencies.read(frees ? sizeof(of) : 0, &of, sizeof(of));
            if (of.total() == 0) continue;
            const std::string call = frees ? "free_" : "alloc_";
            add_value((call + "p50").c_str(), of.quantile(0.5));
            add_value((call + "p99").c_str(), of.quantile(0.99));
            add_value((call + "p999").c_str(), of.quantile(0.999));
            add_value((call + "worst").c_str(), static_cast<double>(of.worst));
        }
    }

    /// What was asked for and is live; and, when it has aged, how fragmented the pool is.
    void measure_pool() {
        std::vector<LiveBlock> records(records_.size() / sizeof(LiveBlock));
        records_.read(0, records.data(), records_.size());
        std::vector<std::uint32_t> table(churn_.slots);
        table_.read(0, table.data(), table.size() * sizeof(std::uint32_t));
        const Tickets tickets{.sizes = sizes_.data(), .seed = task_.seed};
        double live = 0;
        for (const std::uint32_t number : table) {
            const LiveBlock& record = records[number];
            if (record.block != nullptr) live += tickets.bytes(record.ticket);
        }
        add_value("live", 100 * live / static_cast<double>(pool_->pool_bytes()));
        if (task_.procedure != Procedure::aged) return;
        const allocators::PoolUse use = pool_->use();
        if (!use.known || use.allocated_bytes == 0) return;
        add_value("internal", 1 - live / static_cast<double>(use.allocated_bytes));
        add_value("external", allocators::external_fragmentation(use));
    }

    std::vector<std::uint32_t> sizes_;
    Churn churn_;
    Buffer table_;  ///< the records of slots, then those of callers
    Buffer records_;
    Buffer size_table_;
};

}  // namespace

TaskResult keep_live(const Subject& subject, const Task& task) {
    return ChurnRun(subject, task).result();
}

}  // namespace heapwood::app
