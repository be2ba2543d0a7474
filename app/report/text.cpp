#include <algorithm>

#include "app/base/text.h"
#include "app/report/formats.h"

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
Lines wrapped(std::string text, std::size_t width) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
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
            std::size_t width = wrapped_width(table.columns[i].title, most);
            for (const auto& row : table.rows) {
                width = std::max(width, wrapped_width(shown(row[i]), most));
            }
            widths_.push_back(width);
        }
    }

    /// The table, in as many parts as fit a line; each begins with the column of names.
    std::string text(bool colour) const {
        std::string all;
        std::size_t from = 1;
        do {
            std::size_t to = from;
            std::size_t width = widths_[0];
            while (to < widths_.size() && width + kGap + widths_[to] <= kTextWidth) {
                width += kGap + widths_[to++];
            }
            if (from > 1) all += "\n";
            const std::string title = table_.title + (from > 1 ? ", continued" : "");
            if (!table_.title.empty()) {
                for (const std::string& line : wrapped(title, kTextWidth)) {
                    all += bold(line, colour) + "\n";
                }
            }
            all += part(from, to, colour);
            from = to;
        } while (from < widths_.size());
        return all;
    }

private:
    static constexpr std::size_t kGap = 2;

    static std::size_t wrapped_width(const std::string& text, std::size_t most) {
        std::size_t width = 0;
        for (const std::string& line : wrapped(text, most)) {
            width = std::max(width, display_width(line));
        }
        return width;
    }

    /// Headings and rows of the names and of the columns from `from` to before `to`.
    std::string part(std::size_t from, std::size_t to, bool colour) const {
        std::vector<std::size_t> columns{0};
        for (std::size_t i = from; i < to; ++i) columns.push_back(i);
        std::string text;
        const auto add = [&](const auto& cell, bool heading) {
            std::vector<Lines> cells;
            std::size_t height = 0;
            for (const std::size_t i : columns) {
                cells.push_back(wrapped(cell(i), widths_[i]));
                height = std::max(height, cells.back().size());
            }
            for (std::size_t number = 0; number < height; ++number) {
                const std::string line = one_line(columns, cells, number);
                if (!heading || !line.empty()) text += bold(line, colour && heading) + "\n";
            }
        };
        add([&](std::size_t i) { return table_.columns[i].title; }, true);
        for (const auto& row : table_.rows) {
            add([&](std::size_t i) { return shown(row[i]); }, false);
        }
        return text;
    }

    /// That line of each cell, without blanks at the end.
    std::string one_line(const std::vector<std::size_t>& columns, const std::vector<Lines>& cells,
                         std::size_t number) const {
        std::string text;
        std::size_t pending = 0;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::string cell = number < cells[i].size() ? cells[i][number] : "";
            const std::size_t padding = widths_[columns[i]] - display_width(cell);
            const bool right = table_.columns[columns[i]].numbers;
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
    std::vector<std::size_t> widths_;
};

}  // namespace

std::string as_text(const Document& document, bool colour, bool details) {
    const Depth hidden = details ? Depth::brief : Depth::detailed;
    std::string text;
    for (const Table& table : document.tables) {
        if (table.depth != hidden) text += Layout(table).text(colour) + "\n";
    }
    for (const Remark& remark : document.remarks) {
        if (remark.depth == hidden) continue;
        for (const std::string& line : wrapped(remark.text, kTextWidth)) text += line + "\n";
    }
    return text;
}

}  // namespace heapwood::app
