/// @file
/// The tables of scripts/published, compiled in, so that the program alone can be copied.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace heapwood::app {

/// The texts of the files, in which tabs separate the fields. Each has sections: a line that begins
/// with "## ", a line of headings and a line for each row. The survey's say there "DEVICE FILE
/// STATISTIC", and "name" with sizes, ranges or numbers of threads; tables of builds say there
/// "PAPER<tab>DEVICE<tab>POOL", and "row" with scenes.
const std::vector<const char*>& published_tables();

/// A row of a table of builds.
struct PublishedBuildRow {
    std::string name;       ///< as the paper calls it: "ScatterAlloc_4096", "AWMalloc*"
    std::string allocator;  ///< as this program calls it: "scatteralloc"; empty: facts of the scene
    std::vector<std::string> values;  ///< one a scene, as printed: "1.74", "871K"
};

/// Tables 2 (2014), 3 and 4 (2015) of Vinkler & Havran. One row has times, the one of `reference`;
/// those of the other allocators have slowdowns over it.
struct PublishedBuilds {
    std::string source;     ///< "Vinkler & Havran 2015, Table 3"
    std::string device;     ///< "GTX TITAN Black"
    std::string pool;       ///< "200x"
    std::string reference;  ///< "atomicmalloc"
    std::string unit;       ///< of its times: "ms" or "s"
    std::vector<std::string> scenes;
    std::vector<PublishedBuildRow> rows;

    /// What a row has for a scene, as printed; nothing if the table has no such row or scene.
    std::optional<std::string> value(const std::string& row, const std::string& scene) const;
};

/// All three tables, in the order of their years.
const std::vector<PublishedBuilds>& published_builds();

/// Medians that a paper gives for a series.
struct PublishedRow {
    std::string series;
    std::string name;    ///< as the paper calls the allocator
    std::string metric;  ///< of the series
    std::string device;
    std::string source;
    std::vector<double> x;
    std::vector<std::optional<double>> values;  ///< milliseconds; nothing where the paper has none
};

/// The survey's medians on a TITAN V (scripts/published) for those of the series, by their ids,
/// that it has.
std::vector<PublishedRow> published_rows(const std::vector<std::string>& series);

}  // namespace heapwood::app
