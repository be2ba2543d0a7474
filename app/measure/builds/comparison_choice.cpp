#include <cmath>
#include <functional>

#include "app/measure/builds/comparison_parts.h"
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

}  // namespace

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
