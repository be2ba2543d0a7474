/// @file
/// Figures as cells, and the words that all verbs have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/base/outcome.h"
#include "app/report/figures/document.h"
#include "app/report/figures/figures.h"

namespace heapwood::app {

/// The meaning of the asterisk behind an allocator's name.
inline constexpr const char* kAsteriskRemark =
    "* not a full allocator: memory returns with the whole pool, or in ring order, only.";

/// An allocator's name, with the papers' asterisk where memory does not return block by block.
std::string starred(std::string_view name, bool full);

/// The text of a cell without a figure; `message` says why.
Cell failed_cell(Outcome outcome, const std::string& message);

/// A figure as its unit wants it; `otherwise` where it is null.
Cell shown(const Json& value, Unit unit, const char* otherwise = kNoValue);

/// A figure to the last digit, as CSV has it; empty where it is null.
Cell exact(const Json& value);

/// The value, or null.
template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

/// The text, or null if it is empty.
Json or_null(const std::string& text);

/// An array of what `make` makes of each.
template <class All, class Make>
Json array_of(const All& all, const Make& make) {
    Json array = Json::array();
    for (const auto& one : all) array.push_back(make(one));
    return array;
}

/// Cells of CSV with their headings.
using Record = std::vector<std::pair<std::string, Json>>;

/// Appends a row; all records of a table have the same headings.
void add_record(Table& table, const Record& record);

/// Appends all figures of a list that have a column.
template <class Of, class To>
void append(Record& record, const FigureList<Of, To>& list, const Of& of) {
    for_each_column(list, of, [&](const auto& figure, const Json& value) {
        record.emplace_back(figure.key, value);
    });
}

/// An allocator's line of a plot, still without points.
Plot::Line line_of(std::string_view name, bool full);

}  // namespace heapwood::app
