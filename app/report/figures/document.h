/// @file
/// The results of a verb as a document: plain data, which every format renders in one place.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/measure/heap_map.h"

namespace heapwood::app {

using Json = nlohmann::ordered_json;

/// The text of a cell whose figure is unknown or has no meaning.
inline constexpr const char* kNoValue = "–";

/// One cell of a table.
struct Cell {
    enum class Look {
        plain,
        strong,  ///< in brackets on a terminal, in bold in documents
        failed,  ///< says why there is no figure
    };

    std::string text;
    /// The key that a column of numbers is sorted by; none: the cell comes last.
    std::optional<double> value = std::nullopt;
    Look look = Look::plain;
    std::string note = {};  ///< the hint that a pointer over the cell shows

    Cell(std::string shown, std::optional<double> by = std::nullopt)
        : text(std::move(shown)), value(by) {}
    Cell(const char* shown) : text(shown) {}
};

/// A column's heading, and whether its cells are numbers, which are flush right.
struct Column {
    std::string title;
    bool numbers = false;
};

/// Which readers a table is for.
enum class Depth {
    always,
    brief,     ///< those of a terminal who want a screenful
    detailed,  ///< those who want all
};

/// The tables, or remarks, for those who want a screenful, or for those who want all.
template <class Part>
std::vector<Part> for_readers(const std::vector<Part>& parts, bool details) {
    std::vector<Part> chosen;
    for (const Part& part : parts) {
        if (part.depth != (details ? Depth::brief : Depth::detailed)) chosen.push_back(part);
    }
    return chosen;
}

/// Rows of as many cells as there are columns. The first cell of a row is its name.
struct Table {
    std::string title;
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows = {};
    Depth depth = Depth::always;
};

/// A plot below the table whose title it names; only pages have plots.
struct Plot {
    /// Of a line; a bar is a line of one point without an x.
    struct Point {
        double x = 0;
        double y = 0;
        std::string text;  ///< its figure as people read it
    };
    struct Line {
        std::string name;
        std::vector<Point> points;  ///< none: `word` says why
        bool strong = false;
        bool partial = false;  ///< of an allocator that is not full
        std::string word = {};
    };

    std::string table;
    std::string title;
    std::string x;                              ///< title of the axis; empty: bars
    std::string y;                              ///< title of the axis; of bars: the unit
    std::optional<double> base = std::nullopt;  ///< where bars begin
    std::vector<Line> lines = {};
};

/// Pictures of one pool below the table whose title it names; only pages have them.
struct PoolPictures {
    std::string table;
    std::string title;
    std::vector<std::pair<std::string, allocators::HeapCells>> pictures;  ///< each with its name
};

/// A sentence below the tables.
struct Remark {
    std::string text;
    bool warning = false;  ///< the reader must not miss it
    Depth depth = Depth::always;
};

/// The version of the schema of every verb's JSON.
inline constexpr int kSchema = 1;

/// Everything that a verb says.
struct Document {
    std::string title;  ///< "heapwood compare"
    std::vector<Table> tables;
    std::vector<Plot> plots = {};
    std::vector<PoolPictures> pools = {};
    std::vector<Remark> remarks = {};
    Table records = {};   ///< what CSV is: a row for each result, with exact figures
    Json data = nullptr;  ///< what JSON is
};

}  // namespace heapwood::app
