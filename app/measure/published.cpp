#include "app/measure/published.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "app/measure/bench_report.h"

namespace heapwood::app {
namespace {

/// What a section's figures are of.
struct Subject {
    const char* series;
    const char* metric;
};

/// By what stands after "## ". Statistics other than medians, and other devices, are not shown.
const std::map<std::string, Subject>& subjects() {
    static const std::map<std::string, Subject> all{
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

std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> all;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) all.push_back(field);
    return all;
}

/// A number, or nothing for "-"; a time of 0 is the survey's way to say that a run failed.
std::optional<double> number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0) return std::nullopt;
    return value;
}

/// "8192", or the upper end of "4-8192".
double position(const std::string& heading) {
    const std::size_t dash = heading.find('-');
    return number(dash == heading.npos ? heading : heading.substr(dash + 1)).value_or(0);
}

}  // namespace

std::vector<PublishedRow> published_rows(const std::vector<Series>& series) {
    std::vector<PublishedRow> rows;
    for (const char* table : published_tables()) {
        std::istringstream stream(table);
        const Subject* subject = nullptr;
        std::string section;
        std::vector<double> x;
        for (std::string line; std::getline(stream, line);) {
            if (line.rfind("## ", 0) == 0) {
                section = line.substr(3);
                const auto found = subjects().find(section);
                subject = found == subjects().end() ? nullptr : &found->second;
                x.clear();
                continue;
            }
            const std::vector<std::string> row = fields(line);
            if (subject == nullptr || row.size() < 2) continue;
            if (x.empty()) {
                for (std::size_t i = 1; i < row.size(); ++i) x.push_back(position(row[i]));
                continue;
            }
            const bool wanted = std::any_of(
                series.begin(), series.end(),
                [&](const Series& candidate) { return candidate.id == subject->series; });
            if (!wanted) continue;
            PublishedRow published{.series = subject->series,
                                   .name = row[0],
                                   .metric = subject->metric,
                                   .device = "TITAN V",
                                   .source = "Winter et al. 2021, " + section,
                                   .x = x,
                                   .values = {}};
            for (std::size_t i = 1; i < row.size(); ++i) published.values.push_back(number(row[i]));
            published.values.resize(x.size());
            rows.push_back(std::move(published));
        }
    }
    return rows;
}

}  // namespace heapwood::app
