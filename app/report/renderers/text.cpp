#include <algorithm>

#include "app/base/printable.h"
#include "app/base/text.h"
#include "app/report/renderers/formats.h"

namespace heapwood::app {
namespace {

using Lines = std::vector<std::string>;

std::string bold(const std::string& text, bool colour) {
    return colour && !text.empty() ? "\x1b[1m" + text + "\x1b[0m" : text;
}

/// The bytes of the first `width` characters.
std::size_t bytes_of(std::string_view text, std::size_t width) {
    std::size_t bytes = 0;
    while (bytes < text.size() && display_width(text.substr(0, bytes + 1)) <= width) ++bytes;
    return bytes;
}

/// The text in lines of at most that width, broken at blanks, or within words that are longer.
Lines wrapped(const std::string& all, std::size_t width) {
    std::string text = brief(printable(all, " "));
    Lines lines;
    while (display_width(text) > width) {
        const std::size_t most = bytes_of(text, width);
        const std::size_t blank = text.rfind(' ', most);
        const bool at_blank = blank != text.npos && blank > 0;
        lines.push_back(text.substr(0, at_blank ? blank : most));
        text.erase(0, at_blank ? blank + 1 : most);
    }
    lines.push_back(std::move(text));
    for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
    return lines;
}

std::string shown(const Cell& cell) {
    return cell.look == Cell::Look::strong ? "[" + cell.text + "]" : cell.text;
}

/// A table as it is laid out: cells in lines, and each column's width.
class Layout {
public:
    Layout(const Table& table) : table_(table) {
        constexpr std::size_t kMostForNames = 40;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            const std::size_t most = i == 0 ? kMostForNames : kTextWidth - widths_[0] - kGap;
            std::vector<Lines> cells{wrapped(table.columns[i].title, most)};
            for (const auto& row : table.rows) cells.push_back(wrapped(shown(row[i]), most));
            std::size_t width = 0;
            for (const Lines& lines : cells) {
                for (const auto& line : lines) width = std::max(width, display_width(line));
            }
            widths_.push_back(width);
            columns_.push_back(std::move(cells));
        }
    }

    /// The table, in as many parts as fit a line; each begins with the column of names.
    std::string text(bool colour) const {
        std::string all;
        std::size_t from = 1;
        do {
            std::vector<std::size_t> chosen{0};
            std::size_t width = widths_[0];
            std::size_t to = from;
            while (to < widths_.size() && width + kGap + widths_[to] <= kTextWidth) {
                width += kGap + widths_[to];
                chosen.push_back(to++);
            }
            if (from > 1) all += "\n";
            const std::string title = table_.title + (from > 1 ? ", continued" : "");
            if (!table_.title.empty()) {
                for (const std::string& line : wrapped(title, kTextWidth)) {
                    all += bold(line, colour) + "\n";
                }
            }
            for (std::size_t row = 0; row <= table_.rows.size(); ++row) {
                all += row_text(chosen, row, colour);
            }
            from = to;
        } while (from < widths_.size());
        return all;
    }

private:
    static constexpr std::size_t kGap = 2;

    /// A row of these columns, as many lines as its highest cell; row 0 has the headings.
    std::string row_text(const std::vector<std::size_t>& chosen, std::size_t row,
                         bool colour) const {
        std::size_t height = 0;
        for (const std::size_t i : chosen) height = std::max(height, columns_[i][row].size());
        std::string text;
        for (std::size_t number = 0; number < height; ++number) {
            const std::string line = line_text(chosen, row, number);
            if (row > 0 || !line.empty()) text += bold(line, colour && row == 0) + "\n";
        }
        return text;
    }

    /// That line of each cell, without blanks at the end.
    std::string line_text(const std::vector<std::size_t>& chosen, std::size_t row,
                          std::size_t number) const {
        std::string text;
        std::size_t pending = 0;
        for (const std::size_t i : chosen) {
            const Lines& lines = columns_[i][row];
            const std::string cell = number < lines.size() ? lines[number] : "";
            const std::size_t padding = widths_[i] - display_width(cell);
            const bool right = table_.columns[i].numbers;
            if (!cell.empty()) {
                text += std::string(pending + (right ? padding : 0), ' ') + cell;
                pending = right ? 0 : padding;
            } else {
                pending += padding;
            }
            pending += kGap;
        }
        return text;
    }

    const Table& table_;
    std::vector<std::vector<Lines>> columns_;  ///< each with its heading first
    std::vector<std::size_t> widths_;
};

}  // namespace

std::string as_text(const Document& document, bool colour, bool details) {
    std::string text;
    for (const Table& table : for_readers(document.tables, details)) {
        text += Layout(table).text(colour) + "\n";
    }
    for (const Remark& remark : for_readers(document.remarks, details)) {
        for (const std::string& line : wrapped(remark.text, kTextWidth)) text += line + "\n";
    }
    return text;
}

}  // namespace heapwood::app
