#include "app/report/figures/cells.h"

#include "app/base/json.h"
#include "app/base/text.h"

namespace heapwood::app {

std::string starred(std::string_view name, bool full) {
    return std::string(name) + (full ? "" : "*");
}

Cell failed_cell(Outcome outcome, const std::string& message) {
    Cell cell = word(outcome);
    cell.look = Cell::Look::failed;
    cell.note = message;
    return cell;
}

Cell shown(const Json& value, Unit unit, const char* otherwise) {
    if (value.is_null()) return otherwise;
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (!value.is_number()) return value.get<std::string>();
    const auto number = value.get<double>();
    const auto whole = [&] { return value.get<std::uint64_t>(); };
    const auto text = [&]() -> std::string {
        switch (unit) {
            case Unit::word:
                return shortest(number);
            case Unit::count:
                return grouped(whole());
            case Unit::ms:
            case Unit::cost:
                return fixed(number, 3);
            case Unit::bytes:
                return bytes_text(whole());
            case Unit::size:
                return fixed(number, 1);
            case Unit::factor:
                return fixed(number, 2) + "x";
            case Unit::multiple:
                return shortest(rounded(number, 2)) + "x";
            case Unit::fraction:
                return fixed(100 * number, 1) + " %";
            case Unit::rate:
                return fixed(number / 1e6, 2);
        }
        return shortest(number);
    };
    return {text(), number};
}

Cell exact(const Json& value) {
    if (value.is_null()) return "";
    if (value.is_string()) return value.get<std::string>();
    if (value.is_array()) {
        std::vector<std::string> words;
        for (const Json& item : value) words.push_back(exact(item).text);
        return joined(words, " ");
    }
    if (value.is_number_float()) return {shortest(value.get<double>()), value.get<double>()};
    if (value.is_number()) return {dumped(value), value.get<double>()};
    return dumped(value);
}

Json or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

void add_record(Table& table, const Record& record) {
    const bool first = table.rows.empty();
    table.rows.emplace_back();
    for (std::size_t i = 0; i < record.size(); ++i) {
        const auto& [heading, value] = record[i];
        if (first) table.columns.push_back({heading});
        if (value.is_number()) table.columns[i].numbers = true;
        table.rows.back().push_back(exact(value));
    }
}

Plot::Line line_of(std::string_view name, bool full) {
    return {.name = starred(name, full), .points = {}, .partial = !full};
}

}  // namespace heapwood::app
