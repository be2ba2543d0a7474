#include <algorithm>
#include <cctype>
#include <sstream>

#include "app/measure/published.h"

namespace heapwood::app {
namespace {

std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> all;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) all.push_back(field);
    return all;
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

PublishedBuilds parsed(const char* text) {
    PublishedBuilds table;
    std::istringstream stream(text);
    std::string line;
    std::getline(stream, line);
    std::vector<std::string> head = fields(line.substr(3));
    head.resize(3);
    table.source = head[0];
    table.device = head[1];
    table.pool = head[2];
    std::getline(stream, line);
    table.scenes = fields(line);
    table.scenes.erase(table.scenes.begin());
    while (std::getline(stream, line)) {
        std::vector<std::string> row = fields(line);
        const std::string name = row.at(0);
        row.erase(row.begin());
        const std::string allocator = allocator_of(name);
        const std::size_t unit = name.rfind('_');
        if (!allocator.empty() && unit != name.npos &&
            std::isalpha(static_cast<unsigned char>(name.back())) != 0) {
            table.reference = allocator;
            table.unit = name.substr(unit + 1);
        }
        table.rows.push_back({.name = name, .allocator = allocator, .values = std::move(row)});
    }
    return table;
}

}  // namespace

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
        for (const char* text : published_build_tables()) tables.push_back(parsed(text));
        return tables;
    }();
    return all;
}

}  // namespace heapwood::app
