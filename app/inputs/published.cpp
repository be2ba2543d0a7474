#include "app/inputs/published.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "scenes/number.h"

namespace heapwood::app {
namespace {

/// What stands between tabs.
std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> all;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) all.push_back(field);
    return all;
}

/// A section of a file.
struct Section {
    std::string title;              ///< what stands behind "## "
    std::vector<std::string> head;  ///< of the columns, that of the names first
    std::vector<std::vector<std::string>> rows;
};

std::vector<Section> sections() {
    std::vector<Section> all;
    for (const char* file : published_tables()) {
        std::istringstream stream(file);
        for (std::string line; std::getline(stream, line);) {
            const std::vector<std::string> row = fields(line);
            if (line.starts_with("## ")) {
                all.push_back({.title = line.substr(3), .head = {}, .rows = {}});
            } else if (row.size() > 1 && all.back().head.empty()) {
                all.back().head = row;
            } else if (row.size() > 1) {
                all.back().rows.push_back(row);
            }
        }
    }
    return all;
}

/// What a section's figures are of.
struct Shown {
    const char* series;
    const char* metric;
};

/// By what stands after "## ". Statistics other than medians, and other devices, are not shown.
const std::map<std::string, Shown>& shown() {
    static const std::map<std::string, Shown> all{
        {"TITANV performance/perf_alloc_{n}_100000_4-8192.csv median",
         {"alloc.thread.100000", "alloc_ms"}},
        {"TITANV performance/perf_free_{n}_100000_4-8192.csv median",
         {"alloc.thread.100000", "free_ms"}},
        {"TITANV performance/warp_perf_alloc_{n}_10000_4-8192.csv median",
         {"alloc.warp.10000", "alloc_ms"}},
        {"TITANV alloc_tests/mixed_performance/perf_mixed_alloc_{n}_100000_4-8192.csv median",
         {"mixed.100000", "alloc_ms"}},
        {"TITANV alloc_tests/scaling/scale_alloc_{n}_16_1-1048576.csv median",
         {"scaling.16", "alloc_ms"}},
        {"TITANV alloc_tests/scaling/scale_alloc_{n}_64_1-1048576.csv median",
         {"scaling.64", "alloc_ms"}},
        {"TITANV alloc_tests/scaling/scale_alloc_{n}_512_1-1048576.csv median",
         {"scaling.512", "alloc_ms"}},
        {"TITANV alloc_tests/scaling/scale_alloc_{n}_8192_1-1048576.csv median",
         {"scaling.8192", "alloc_ms"}}};
    return all;
}

/// A number, or nothing for "-"; a time of 0 is the survey's way to say that a run failed.
std::optional<double> number(const std::string& text) {
    const auto value = scenes::read_number<double>(text);
    return value == 0 ? std::nullopt : value;
}

/// "8192", or the upper end of "4-8192".
double position(const std::string& heading) {
    const std::size_t dash = heading.find('-');
    return number(dash == heading.npos ? heading : heading.substr(dash + 1)).value_or(0);
}

/// "scatteralloc" for "ScatterAlloc_4096", "atomicmalloc" for "AtomicMalloc*_ms"; empty for rows
/// that are no allocator's: "N_tris", "mean_B".
std::string allocator_of(const std::string& row) {
    const std::string title = row.substr(0, row.find_first_of("*_"));
    if (title.size() < 6 || title == "deviation") return "";
    std::string name;
    for (const char c : title) {
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return name;
}

PublishedBuilds builds_of(const Section& section) {
    std::vector<std::string> title = fields(section.title);
    title.resize(3);
    PublishedBuilds table{.source = title[0],
                          .device = title[1],
                          .pool = title[2],
                          .reference = "",
                          .unit = "",
                          .scenes = {section.head.begin() + 1, section.head.end()},
                          .rows = {}};
    for (const std::vector<std::string>& row : section.rows) {
        const std::string& name = row.front();
        const std::string allocator = allocator_of(name);
        const std::size_t unit = name.rfind('_');
        if (!allocator.empty() && unit != name.npos &&
            std::isalpha(static_cast<unsigned char>(name.back())) != 0) {
            table.reference = allocator;
            table.unit = name.substr(unit + 1);
        }
        table.rows.push_back(
            {.name = name, .allocator = allocator, .values = {row.begin() + 1, row.end()}});
    }
    return table;
}

}  // namespace

std::vector<PublishedRow> published_rows(const std::vector<std::string>& series) {
    std::vector<PublishedRow> rows;
    for (const Section& section : sections()) {
        const auto found = shown().find(section.title);
        if (found == shown().end()) continue;
        const auto& [id, metric] = found->second;
        if (std::ranges::count(series, id) == 0) continue;
        std::vector<double> x;
        for (std::size_t i = 1; i < section.head.size(); ++i)
            x.push_back(position(section.head[i]));
        for (const std::vector<std::string>& row : section.rows) {
            PublishedRow published{.series = id,
                                   .name = row[0],
                                   .metric = metric,
                                   .device = "TITAN V",
                                   .source = "Winter et al. 2021, " + section.title,
                                   .x = x,
                                   .values = {}};
            for (std::size_t i = 1; i < row.size(); ++i) published.values.push_back(number(row[i]));
            published.values.resize(x.size());
            rows.push_back(std::move(published));
        }
    }
    return rows;
}

std::optional<std::string> PublishedBuilds::value(const std::string& row,
                                                  const std::string& scene) const {
    const auto column = std::find(scenes.begin(), scenes.end(), scene);
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const PublishedBuildRow& other) {
        return other.name == row;
    });
    if (column == scenes.end() || found == rows.end()) return std::nullopt;
    return found->values.at(static_cast<std::size_t>(column - scenes.begin()));
}

const std::vector<PublishedBuilds>& published_builds() {
    static const std::vector<PublishedBuilds> all = [] {
        std::vector<PublishedBuilds> tables;
        for (const Section& section : sections()) {
            if (section.head.front() == "row") tables.push_back(builds_of(section));
        }
        return tables;
    }();
    return all;
}

}  // namespace heapwood::app
