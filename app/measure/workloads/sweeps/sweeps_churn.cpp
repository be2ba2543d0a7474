/// @file
/// A steady state: a live set that stays at 30, 60 and 90 % of the pool, whose blocks are replaced
/// one by one. No paper has it; real programs are in it most of the time.
#include "app/measure/workloads/sweeps/sweep_parts.h"

namespace heapwood::app::sweeps {
namespace {

/// Small: where a pool is nearly full, the time of many allocators grows with its square.
constexpr std::uint64_t kChurnPool = 64 * kMiB;
constexpr std::uint32_t kChurnCallers = 10000;
/// On a CPU threads take callers one after another, and so do the same with fewer.
constexpr std::uint32_t kChurnCallersOnCpu = 256;
constexpr std::uint32_t kSmallestBytes = 16;
const std::vector<std::uint64_t> kShares{30, 60, 90};

const Axis kLive{"live", "live set, % of the pool",
                 [](Task& task, std::uint64_t percent) { task.live = narrow(percent); }};
const Axis kTurnovers{"turnovers", "times that the live set was replaced",
                      [](Task& task, std::uint64_t times) { task.rounds = narrow(times); }};

std::vector<Metric> speed_metrics(const SweepSettings& settings) {
    const std::string unit = settings.gpu ? "cycles" : "ns";
    std::vector<Metric> all{{"rate", "blocks replaced a second", "M/s", false}};
    for (const std::string call : {"alloc", "free"}) {
        const std::string title = call == "alloc" ? "allocation" : "deallocation";
        all.push_back({call + "_p50", title + ", median call", unit, false});
        all.push_back({call + "_p99", title + ", 99 % of calls within", unit, false});
        all.push_back({call + "_p999", title + ", 99.9 % of calls within", unit, false});
        all.push_back({call + "_worst", title + ", slowest call", unit, false});
    }
    return all;
}

}  // namespace

std::vector<Series> churn(const SweepSettings& settings) {
    const std::uint64_t usual = settings.gpu && !settings.quick ? kChurnPool : kQuickPool;
    Task task = task_of(Procedure::churn, settings.pool_bytes.value_or(usual), settings);
    task.callers = settings.quick ? kQuickCallers
                   : settings.gpu ? kChurnCallers
                                  : kChurnCallersOnCpu;
    task.min_bytes = kSmallestBytes;
    task.max_bytes = settings.largest_bytes;
    if (settings.sizes) {
        task.min_bytes = settings.sizes->min_bytes;
        task.max_bytes = settings.sizes->max_bytes;
    }
    const std::vector<Metric> both{{"live", "bytes that are live", "%", false},
                                   {"refused", "requests refused", "%", false}};
    const auto steady = [&](const std::string& id, const std::string& title, const Axis& axis,
                            const std::vector<Metric>& metrics,
                            const std::vector<std::uint64_t>& values) {
        Series one =
            series(id, title, "", axis, metrics, task, chosen(values, settings), Room::whole);
        one.metrics.insert(one.metrics.end(), both.begin(), both.end());
        one.full_only = true;
        return one;
    };
    std::vector<Series> all{steady("churn.live", "Blocks of a live set are replaced", kLive,
                                   speed_metrics(settings), kShares)};
    task.procedure = Procedure::aged;
    for (const std::uint64_t percent : chosen(kShares, settings)) {
        kLive.set(task, percent);
        const std::string share = std::to_string(percent);
        all.push_back(steady("churn.aged." + share,
                             "Fragmentation as a live set of " + share + " % is replaced",
                             kTurnovers,
                             {{"internal", "internal fragmentation", "1", false},
                              {"external", "external fragmentation", "1", false}},
                             powers(1, 8, 2)));
    }
    return all;
}

}  // namespace heapwood::app::sweeps
