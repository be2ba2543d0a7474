/// @file
/// Tables that documents have in common, made of lists of figures.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/report/figures/cells.h"

namespace heapwood::app {

/// Two columns without headings: what is known, a line each.
inline Table facts_table(std::string title, std::vector<std::vector<Cell>> rows,
                         Depth depth = Depth::always) {
    return {.title = std::move(title),
            .columns = {{""}, {""}},
            .rows = std::move(rows),
            .depth = depth};
}

/// A figure's cell. An outcome that is not "done" says why by the list's "message".
template <class Of, class To>
Cell figure_cell(const FigureList<Of, To>& list, const std::string& key, const Of& of,
                 const char* otherwise = kNoValue) {
    const Json value = value_of(list, key, of);
    if (key == "outcome" && value != name(Outcome::done)) {
        const Json message = value_of(list, "message", of);
        return failed_cell(outcome_named(value.get<std::string>()),
                           message.is_null() ? "" : message.get<std::string>());
    }
    return shown(value, figure_of(list, key).unit, otherwise);
}

/// A row of a table of figures; without `of` they are unknown.
template <class Of>
struct FigureRow {
    std::string name;
    std::optional<Of> of;
};

/// A row for each of these, and a column for each figure with that key.
template <class Of, class To>
Table figure_table(const FigureList<Of, To>& list, std::string title,
                   const std::vector<FigureRow<Of>>& rows, const std::vector<std::string>& keys,
                   const char* names = "allocator") {
    Table table{.title = std::move(title), .columns = {{names}}};
    for (const std::string& key : keys) {
        const auto& figure = figure_of(list, key);
        table.columns.push_back({figure.title, figure.unit != Unit::word});
    }
    for (const FigureRow<Of>& one : rows) {
        auto& row = table.rows.emplace_back();
        row.emplace_back(one.name);
        for (const std::string& key : keys) {
            row.push_back(one.of ? figure_cell(list, key, *one.of) : Cell(kNoValue));
        }
    }
    return table;
}

}  // namespace heapwood::app
