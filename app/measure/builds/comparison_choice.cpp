#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "app/base/text.h"
#include "app/measure/builds/comparison_parts.h"
#include "app/report/figures/cells.h"
#include "app/report/figures/recommendation.h"

namespace heapwood::app {
namespace {

using FigureOf = std::function<std::optional<double>(const Result&)>;

/// The results of a pool: a row a scene, in each the same allocators.
using Rows = std::vector<std::vector<const Result*>>;

/// Of full and sound allocators whose builds are done for all scenes.
Rows rows_of(const Comparison& comparison, std::size_t pool) {
    Rows rows(comparison.scenes.size());
    const std::size_t allocators = group_of(comparison, 0, pool).report.results.size();
    for (std::size_t i = 0; i < allocators; ++i) {
        std::vector<const Result*> column;
        for (std::size_t scene = 0; scene < rows.size(); ++scene) {
            const Result& r = group_of(comparison, scene, pool).report.results[i];
            if (r.outcome == Outcome::done && r.method == Method::single && r.allocator.full &&
                r.allocator.sound) {
                column.push_back(&r);
            }
        }
        if (column.size() < rows.size()) continue;
        for (std::size_t scene = 0; scene < rows.size(); ++scene) {
            rows[scene].push_back(column[scene]);
        }
    }
    return rows;
}

/// The geometric mean of an allocator's figure over all scenes; nothing, if one is unknown.
std::optional<double> mean(const Rows& rows, std::size_t allocator, const FigureOf& figure) {
    double logarithms = 0;
    for (const auto& row : rows) {
        const std::optional<double> value = figure(*row[allocator]);
        if (!value) return std::nullopt;
        logarithms += std::log(*value);
    }
    return std::exp(logarithms / static_cast<double>(rows.size()));
}

std::optional<double> median(const Result& r) {
    return spread(r.built.milliseconds).median;
}

/// Where the mean of an allocator's medians lies, if all scenes have samples enough.
std::optional<Interval> interval(const Rows& rows, std::size_t allocator) {
    const auto end = [&](double Interval::*which) {
        return mean(rows, allocator, [&](const Result& r) -> std::optional<double> {
            const std::optional<Interval> one = median_interval(r.built.milliseconds);
            return one ? std::optional(*one.*which) : std::nullopt;
        });
    };
    const std::optional<double> low = end(&Interval::low);
    if (!low) return std::nullopt;
    return Interval{*low, end(&Interval::high).value_or(*low)};
}

std::optional<double> bytes_at_peak(const Result& r) {
    if (!r.built.peak) return std::nullopt;
    return static_cast<double>(r.built.peak->allocated_bytes + r.built.overhead_bytes);
}

std::optional<double> bytes_of_smallest_pool(const Result& r) {
    if (!r.minimal_pool_bytes) return std::nullopt;
    return static_cast<double>(*r.minimal_pool_bytes + r.built.overhead_bytes);
}

/// An allocator with a pool: means over all scenes.
struct PoolTime {
    std::string pool;
    double bytes;
    double time;
    std::optional<Interval> times;
};

/// For each full allocator its pools with which all builds are done, the smallest first.
std::map<std::string, std::vector<PoolTime>> times_by_pool(const Comparison& comparison) {
    const FigureOf pool_bytes = [](const Result& r) -> std::optional<double> {
        return static_cast<double>(r.built.pool_bytes);
    };
    std::map<std::string, std::vector<PoolTime>> times;
    for (std::size_t pool = 0; pool < comparison.pools.size(); ++pool) {
        const Rows rows = rows_of(comparison, pool);
        for (std::size_t i = 0; i < rows.front().size(); ++i) {
            times[rows.front()[i]->allocator.name].push_back(
                {.pool = comparison.pools[pool],
                 .bytes = mean(rows, i, pool_bytes).value_or(0),
                 .time = mean(rows, i, median).value_or(0),
                 .times = interval(rows, i)});
        }
    }
    for (auto& [name, pools] : times) std::ranges::sort(pools, {}, &PoolTime::bytes);
    return times;
}

/// An allocator's smallest pool that costs little.
struct PoolChoice {
    std::string allocator;
    PoolTime smallest;
    PoolTime fastest;
    bool certain;  ///< whether the samples show that it costs no more
};

PoolChoice choose_pool(const std::string& allocator, const std::vector<PoolTime>& pools,
                       double within) {
    const PoolTime& fastest = *std::ranges::min_element(pools, {}, &PoolTime::time);
    const PoolTime& smallest = *std::ranges::find_if(
        pools, [&](const PoolTime& one) { return one.time <= within * fastest.time; });
    const bool certain =
        smallest.pool == fastest.pool ||
        (smallest.times && fastest.times && smallest.times->high <= within * fastest.times->low);
    return {allocator, smallest, fastest, certain};
}

}  // namespace

void add_smallest_pools(const Comparison& comparison, Document& document) {
    if (comparison.pools.size() < 2) return;
    const std::string percent = shortest(comparison.options.within);
    std::vector<PoolChoice> choices;
    for (const auto& [allocator, pools] : times_by_pool(comparison)) {
        choices.push_back(choose_pool(allocator, pools, 1 + comparison.options.within / 100));
    }
    if (choices.empty()) return;
    std::ranges::stable_sort(choices, {}, [](const PoolChoice& c) {
        return std::pair(c.smallest.bytes, c.smallest.time);
    });
    const double least = std::ranges::min(choices, {}, [](const PoolChoice& c) {
                             return c.fastest.time;
                         }).fastest.time;
    Table table{.title = "Smallest pools that cost at most " + percent + " %",
                .columns = {{"allocator"},
                            {"pool", true},
                            {"over its fastest", true},
                            {"fastest pool", true},
                            {"over the fastest of all", true}}};
    std::vector<std::string> uncertain;
    for (const PoolChoice& c : choices) {
        table.rows.push_back({c.allocator, c.smallest.pool,
                              shown(c.smallest.time / c.fastest.time, Unit::factor), c.fastest.pool,
                              shown(c.smallest.time / least, Unit::factor)});
        if (!c.certain) uncertain.push_back(c.allocator);
    }
    document.tables.push_back(std::move(table));
    if (uncertain.empty()) return;
    document.remarks.push_back({"Smallest pools: the samples do not show that they cost at most " +
                                percent + " % for " + joined(uncertain, ", ") +
                                ": raise --repeat, on a machine that does nothing else."});
}

void add_choices(const Comparison& comparison, Document& document) {
    for (std::size_t pool = 0; pool < comparison.pools.size(); ++pool) {
        const Rows rows = rows_of(comparison, pool);
        std::vector<Candidate> candidates;
        for (std::size_t i = 0; i < rows.front().size(); ++i) {
            const Result& r = *rows.front()[i];
            const auto bytes =
                comparison.common.options.minimal_pool ? bytes_of_smallest_pool : bytes_at_peak;
            Candidate one{.name = r.allocator.name,
                          .time = mean(rows, i, median).value_or(0),
                          .memory = mean(rows, i, bytes),
                          .registers = {},
                          .times = interval(rows, i)};
            if (r.kernels && r.kernels->uncoalesced) {
                one.registers = r.kernels->uncoalesced->registers;
            }
            candidates.push_back(one);
        }
        add_recommendation("pool " + comparison.pools[pool],
                           comparison.common.options.minimal_pool
                               ? "the smallest pool, and side tables"
                               : "allocated of the pool at the peak, and side tables",
                           candidates, document);
    }
}

}  // namespace heapwood::app
