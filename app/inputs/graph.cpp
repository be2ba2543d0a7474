#include "app/inputs/graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scenes/random.h"

namespace heapwood::app {
namespace {

using scenes::Random;
using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Edges a vertex of the two random families: the edge factor of Graph500 is twice as large.
constexpr std::uint64_t kEdgesPerVertex = 8;

std::uint32_t below(Random& random, std::uint32_t bound) {
    return static_cast<std::uint32_t>((random.next() >> 32) * bound >> 32);
}

/// At each of its levels an edge falls into a quarter of the matrix, with probabilities of 0.57,
/// 0.19, 0.19 and 0.05.
Edges rmat(std::uint32_t vertices, Random& random) {
    Edges edges;
    while (edges.size() < kEdgesPerVertex * vertices) {
        std::uint64_t u = 0;
        std::uint64_t v = 0;
        for (std::uint64_t half = 1; half < vertices; half *= 2) {
            const double die = random.unit();
            u = 2 * u + (die >= 0.76 ? 1 : 0);
            v = 2 * v + ((die >= 0.57 && die < 0.76) || die >= 0.95 ? 1 : 0);
        }
        if (u < vertices && v < vertices) edges.emplace_back(u, v);
    }
    return edges;
}

Edges road(std::uint32_t vertices, Random& random) {
    const auto side = static_cast<std::uint32_t>(std::sqrt(vertices));
    Edges edges;
    for (std::uint32_t v = 0; v < vertices; ++v) {
        const bool right = random.next() % 8 < 5;
        const bool down = random.next() % 8 < 5;
        if (right && (v + 1) % side != 0 && v + 1 < vertices) edges.emplace_back(v, v + 1);
        if (down && side < vertices - v) edges.emplace_back(v, v + side);
    }
    return edges;
}

/// Points have whole coordinates, and so have distances on every machine. A vertex has 12 edges on
/// average, less at the border.
Edges geometric(std::uint32_t vertices, Random& random) {
    constexpr std::uint64_t kSide = std::uint64_t{1} << 24;
    constexpr double kTwelveOverPi = 3.8197186342054885;
    const double radius =
        std::min(1.0, std::sqrt(kTwelveOverPi / vertices)) * static_cast<double>(kSide);
    // Cells as wide as the radius at least: who is near stands in the same or a next one.
    const auto cells = static_cast<std::uint32_t>(static_cast<double>(kSide) / radius);
    struct Place {
        std::int64_t x, y;
    };
    std::vector<Place> places(vertices);
    std::vector<std::vector<std::uint32_t>> in_cell(std::size_t{cells} * cells);
    const auto cell = [&](std::int64_t at) {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(at) * cells / kSide);
    };
    for (std::uint32_t v = 0; v < vertices; ++v) {
        places[v].x = static_cast<std::int64_t>(random.next() % kSide);
        places[v].y = static_cast<std::int64_t>(random.next() % kSide);
        in_cell[std::size_t{cell(places[v].y)} * cells + cell(places[v].x)].push_back(v);
    }
    Edges edges;
    for (std::uint32_t v = 0; v < vertices; ++v) {
        const std::uint32_t row = cell(places[v].y);
        const std::uint32_t column = cell(places[v].x);
        for (std::uint32_t y = row - (row > 0); y <= std::min(row + 1, cells - 1); ++y) {
            for (std::uint32_t x = column - (column > 0); x <= std::min(column + 1, cells - 1);
                 ++x) {
                for (const std::uint32_t other : in_cell[std::size_t{y} * cells + x]) {
                    const auto dx = static_cast<double>(places[v].x - places[other].x);
                    const auto dy = static_cast<double>(places[v].y - places[other].y);
                    if (other < v && dx * dx + dy * dy <= radius * radius) {
                        edges.emplace_back(v, other);
                    }
                }
            }
        }
    }
    return edges;
}

Edges uniform(std::uint32_t vertices, Random& random) {
    Edges edges(kEdgesPerVertex * vertices);
    for (auto& [u, v] : edges) {
        u = below(random, vertices);
        v = below(random, vertices);
    }
    return edges;
}

}  // namespace

Graph make_graph(GraphFamily family, std::uint32_t vertices, std::uint64_t seed) {
    Random random(seed, static_cast<std::uint64_t>(family));
    switch (family) {
        case GraphFamily::rmat:
            return graph_of(vertices, rmat(vertices, random));
        case GraphFamily::road:
            return graph_of(vertices, road(vertices, random));
        case GraphFamily::geometric:
            return graph_of(vertices, geometric(vertices, random));
        case GraphFamily::uniform:
            break;
    }
    return graph_of(vertices, uniform(vertices, random));
}

Graph graph_of(std::uint32_t vertices, const Edges& edges) {
    // By source in one pass; then each vertex's own, of which there are few.
    std::vector<std::uint64_t> ends(std::size_t{vertices} + 1);
    for (const auto& [u, v] : edges) {
        if (u == v) continue;
        ++ends[u + 1];
        ++ends[v + 1];
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<std::uint32_t> targets(ends.back());
    std::vector<std::uint64_t> next(ends.begin(), ends.end() - 1);
    for (const auto& [u, v] : edges) {
        if (u == v) continue;
        targets[next[u]++] = v;
        targets[next[v]++] = u;
    }
    Graph graph{.first = {0}, .targets = {}};
    graph.first.reserve(ends.size());
    graph.targets.reserve(targets.size());
    for (std::uint32_t v = 0; v < vertices; ++v) {
        const auto begin = targets.begin() + static_cast<std::ptrdiff_t>(ends[v]);
        const auto end = targets.begin() + static_cast<std::ptrdiff_t>(ends[v + 1]);
        std::sort(begin, end);
        graph.targets.insert(graph.targets.end(), begin, std::unique(begin, end));
        graph.first.push_back(graph.targets.size());
    }
    return graph;
}

}  // namespace heapwood::app
