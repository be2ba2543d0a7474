/// @file
/// On which lines of a file its vertices, or its faces, stand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapwood::scenes {

/// The lines of statements of one kind, each of which makes some items: a `v` a vertex, an `f`
/// triangles. What is on lines that follow one another is kept as one, so that a file with all its
/// vertices before all its triangles takes no room to speak of.
class StatementLines {
public:
    /// Statements of lines that follow one another, with equally many items each.
    struct Run {
        std::uint64_t line;   ///< of the first statement
        std::uint32_t first;  ///< number of its first item
        std::uint32_t each;   ///< items of a statement
    };

    /// The next statement: its line is larger than those before, it has an item or more.
    void add(std::uint64_t line, std::uint32_t items) {
        if (runs_.empty() || line != next_line_ || items != runs_.back().each) {
            runs_.push_back({line, items_, items});
        }
        next_line_ = line + 1;
        items_ += items;
    }

    std::size_t run_count() const { return runs_.size(); }
    const Run& run(std::size_t i) const { return runs_[i]; }
    /// The item behind the last one of a run.
    std::uint32_t end_of(std::size_t i) const {
        return i + 1 < runs_.size() ? runs_[i + 1].first : items_;
    }

    /// The line of an item that there is.
    std::uint64_t line_of(std::uint64_t item) const {
        const auto next = std::upper_bound(
            runs_.begin(), runs_.end(), item,
            [](std::uint64_t wanted, const Run& one) { return wanted < one.first; });
        const Run& run = *(next - 1);
        return run.line + (item - run.first) / run.each;
    }

    /// How many items stand on lines before this one.
    std::uint32_t items_before(std::uint64_t line) const {
        const auto next = std::lower_bound(
            runs_.begin(), runs_.end(), line,
            [](const Run& one, std::uint64_t wanted) { return one.line < wanted; });
        if (next == runs_.begin()) return 0;
        const Run& run = *(next - 1);
        const std::uint32_t end = next == runs_.end() ? items_ : next->first;
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(end, run.first + (line - run.line) * run.each));
    }

private:
    std::vector<Run> runs_;
    std::uint64_t next_line_ = 0;
    std::uint32_t items_ = 0;
};

}  // namespace heapwood::scenes
