#include "app/report/figures/recommendation.h"

#include <algorithm>
#include <limits>

#include "app/base/text.h"
#include "app/report/figures/cells.h"

namespace heapwood::app {
namespace {

double or_worst(const std::optional<double>& figure) {
    return figure.value_or(std::numeric_limits<double>::infinity());
}

/// The figures in one order.
std::vector<double> figures(const Candidate& c) {
    return {c.time, or_worst(c.memory), or_worst(c.registers)};
}

bool beats(const Candidate& a, const Candidate& b) {
    const std::vector<double> mine = figures(a);
    const std::vector<double> its = figures(b);
    return mine != its && std::equal(mine.begin(), mine.end(), its.begin(), std::less_equal<>());
}

std::string factor(double value) {
    return shown(value, Unit::factor).text;
}

/// The one with the least of a figure, if that is less than the fastest one's.
const Candidate* least(const std::vector<Candidate>& front,
                       std::optional<double> Candidate::*figure) {
    const auto found = std::ranges::min_element(
        front, {}, [&](const Candidate& c) { return or_worst(c.*figure); });
    return or_worst((*found).*figure) < or_worst(front[0].*figure) ? &*found : nullptr;
}

/// The names of the fastest one and of all that may be as fast.
std::vector<std::string> not_slower(const std::vector<Candidate>& candidates,
                                    const Candidate& first) {
    std::vector<std::string> names{first.name};
    for (const Candidate& c : candidates) {
        if (c.name != first.name && c.times->low <= first.times->high) names.push_back(c.name);
    }
    return names;
}

/// Why none can be recommended, if so.
std::optional<std::string> doubt(const std::vector<Candidate>& candidates, const Candidate& first) {
    if (!std::ranges::all_of(candidates, [](const Candidate& c) { return c.times.has_value(); })) {
        return "no recommendation, for fewer than three samples do not show how far times lie "
               "apart: raise --repeat.";
    }
    const std::vector<std::string> names = not_slower(candidates, first);
    if (names.size() == 1) return std::nullopt;
    return "no recommendation, for the times of " + joined(names, ", ") +
           " overlap: raise --repeat, on a machine that does nothing else.";
}

std::string sentence(const std::vector<Candidate>& candidates,
                     const std::vector<Candidate>& front) {
    if (const auto why = doubt(candidates, front[0])) return *why;
    const Candidate& first = front[0];
    std::string text = "take " + first.name + ": no full allocator is faster";
    const Candidate* small = least(front, &Candidate::memory);
    const Candidate* sparing = least(front, &Candidate::registers);
    if (small == nullptr && sparing == nullptr) {
        return text + (first.memory ? ", and none needs less memory." : ".");
    }
    const auto at_time = [&](const Candidate& c) {
        return factor(c.time / first.time) + " of its time";
    };
    if (small != nullptr) {
        text += "; " + small->name + " needs ";
        text += first.memory ? factor(*small->memory / *first.memory) + " of its memory"
                             : std::string("the least memory that is known");
        text += " and " + at_time(*small);
    }
    if (sparing != nullptr) {
        text += "; " + sparing->name + " has the fewest registers, " +
                shortest(*sparing->registers) + ", and " + at_time(*sparing);
    }
    return text + ".";
}

}  // namespace

std::vector<Candidate> pareto_front(std::vector<Candidate> candidates) {
    std::vector<Candidate> front;
    for (const Candidate& one : candidates) {
        const bool beaten = std::ranges::any_of(
            candidates, [&](const Candidate& other) { return beats(other, one); });
        if (beaten) continue;
        front.insert(std::ranges::upper_bound(front, one.time, {}, &Candidate::time), one);
    }
    return front;
}

void add_recommendation(const std::string& of, const std::string& memory,
                        const std::vector<Candidate>& candidates, Document& document) {
    if (candidates.size() < 2) return;
    const std::vector<Candidate> front = pareto_front(candidates);
    Table table{.title = "Full allocators that no other beats: " + of,
                .columns = {{"allocator"}, {"time", true}, {"memory", true}}};
    const bool registers =
        std::ranges::any_of(front, [](const Candidate& c) { return c.registers.has_value(); });
    if (registers) table.columns.push_back({"registers", true});
    const Candidate& smallest =
        *std::ranges::min_element(front, {}, [](const Candidate& c) { return or_worst(c.memory); });
    for (const Candidate& c : front) {
        table.rows.push_back(
            {c.name, shown(c.time / front[0].time, Unit::factor),
             c.memory ? shown(*c.memory / *smallest.memory, Unit::factor) : Cell("unknown")});
        if (registers) table.rows.back().push_back(shown(or_null(c.registers), Unit::count));
    }
    document.tables.push_back(std::move(table));
    document.remarks.push_back(
        {"For " + of + ": " + sentence(candidates, front) + " Memory: " + memory + "."});
}

}  // namespace heapwood::app
