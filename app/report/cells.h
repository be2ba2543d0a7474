/// @file
/// Figures as cells, and the words that all verbs have in common.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/measure/figures.h"
#include "app/measure/outcome.h"
#include "app/report/document.h"

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

}  // namespace heapwood::app
