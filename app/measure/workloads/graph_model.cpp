#include "app/measure/workloads/graph_model.h"

#include <algorithm>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

/// The edges by their sources.
EdgeLists by_source(std::vector<Edge> edges) {
    std::sort(edges.begin(), edges.end());
    EdgeLists lists;
    for (const auto& [source, target] : edges) {
        if (lists.vertices.empty() || lists.vertices.back() != source) {
            lists.vertices.push_back(source);
            lists.first.push_back(static_cast<std::uint32_t>(lists.targets.size()));
        }
        lists.targets.push_back(target);
    }
    lists.first.push_back(static_cast<std::uint32_t>(lists.targets.size()));
    return lists;
}

}  // namespace

GraphModel::GraphModel(const Graph& graph, std::uint64_t seed)
    : rows_(graph.vertices()), random_(seed) {
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
        const auto row = graph.targets.begin() + static_cast<std::ptrdiff_t>(graph.first[v]);
        rows_[v].assign(row, row + graph.degree(v));
    }
}

std::uint32_t GraphModel::below(std::uint64_t bound) {
    return static_cast<std::uint32_t>(random_.next() % bound);
}

std::uint32_t GraphModel::source(SourceRange range) {
    return static_cast<std::uint32_t>((std::uint64_t{range.begin} + below(range.count)) %
                                      rows_.size());
}

EdgeLists GraphModel::insert(std::uint32_t edges, SourceRange range) {
    std::vector<Edge> inserted;
    while (inserted.size() < edges) {
        const Edge edge{source(range), below(rows_.size())};
        std::vector<std::uint32_t>& row = rows_[edge.first];
        const auto place = std::lower_bound(row.begin(), row.end(), edge.second);
        const bool there = place != row.end() && *place == edge.second;
        if (there || edge.first == edge.second) continue;
        row.insert(place, edge.second);
        inserted.push_back(edge);
    }
    return by_source(std::move(inserted));
}

EdgeLists GraphModel::remove(std::uint32_t edges, SourceRange range) {
    std::vector<Edge> removed;
    while (removed.size() < edges) {
        const std::uint32_t from = source(range);
        std::vector<std::uint32_t>& row = rows_[from];
        if (row.empty()) continue;
        const auto place = row.begin() + below(row.size());
        removed.emplace_back(from, *place);
        row.erase(place);
    }
    return by_source(std::move(removed));
}

std::vector<std::uint64_t> GraphModel::first() const {
    std::vector<std::uint64_t> first{0};
    first.reserve(rows_.size() + 1);
    for (const auto& row : rows_) first.push_back(first.back() + row.size());
    return first;
}

std::optional<std::string> GraphModel::difference(std::vector<std::uint32_t> targets) const {
    auto found = targets.begin();
    for (std::size_t v = 0; v < rows_.size(); ++v) {
        const auto end = found + static_cast<std::ptrdiff_t>(rows_[v].size());
        if (!std::is_sorted(found, end)) std::sort(found, end);
        if (!std::equal(found, end, rows_[v].begin())) {
            return "vertex " + grouped(v) + " has other edges than its " + grouped(rows_[v].size());
        }
        found = end;
    }
    return std::nullopt;
}

}  // namespace heapwood::app
