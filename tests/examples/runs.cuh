/// @file
/// Both examples, both ways, on a machine: each run is checked against maps of the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/examples/graph.cuh"
#include "tests/examples/join.cuh"

namespace heapwood::examples {

/// What a run took.
struct Taken {
    double ms = 0;            ///< all kernels of the work
    double clear_ms = 0;      ///< to give the lists back
    std::uint64_t bytes = 0;  ///< of the results, without a heap's own
};

/// Numbers of which few are frequent: the k-th with a probability of about 1 / k.
inline std::vector<std::uint32_t> skewed(std::size_t count, std::uint32_t below,
                                         std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    std::uniform_real_distribution<double> exponent(0, std::log(static_cast<double>(below)));
    std::vector<std::uint32_t> numbers(count);
    for (std::uint32_t& number : numbers) {
        number = static_cast<std::uint32_t>(std::exp(exponent(dice))) - 1;
    }
    return numbers;
}

/// Lists that lie one behind the other as sorted vectors, to be compared.
inline std::vector<std::vector<std::uint32_t>> sorted(const std::vector<std::uint32_t>& places,
                                                      const std::vector<std::uint32_t>& items) {
    std::vector<std::vector<std::uint32_t>> all;
    for (std::size_t i = 0; i + 1 < places.size(); ++i) {
        all.emplace_back(items.begin() + places[i], items.begin() + places[i + 1]);
        std::sort(all.back().begin(), all.back().end());
    }
    return all;
}

/// Copies a list behind those before it.
struct PackList {
    const List* lists;
    const std::uint32_t* places;
    std::uint32_t* items;
    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        for (std::uint32_t j = 0; j < lists[i].count; ++j) {
            items[places[i] + j] = lists[i].items[j];
        }
    }
};

/// Lists of a heap likewise.
template <class Machine>
std::vector<std::vector<std::uint32_t>> sorted(const std::vector<List>& lists) {
    std::vector<std::uint32_t> places(1);
    for (const List& list : lists) places.push_back(places.back() + list.count);
    Array<std::uint32_t> items(Machine::place, places.back());
    const Array<List> there(Machine::place, lists);
    const Array<std::uint32_t> begins(Machine::place, places);
    Machine::for_each(static_cast<std::uint32_t>(lists.size()),
                      PackList{there.data(), begins.data(), items.data()});
    return sorted(places, items.copy());
}

inline void require(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
}

/// A join of random tables. Few keys are frequent in the second one.
template <class Machine>
class JoinRuns {
public:
    JoinRuns(std::uint32_t rows, std::uint64_t seed)
        : probes_(uniform(rows, seed)), keys_(skewed(rows, rows, seed + 1)), join_(probes_, keys_) {
        std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> by_key;
        for (std::uint32_t row = 0; row < rows; ++row) by_key[keys_[row]].push_back(row);
        for (const std::uint32_t key : probes_) expected_.push_back(by_key[key]);
    }

    /// @throws std::runtime_error if the heap refuses, or a list is wrong
    template <class Heap>
    Taken in_heap(const Heap& heap) const {
        Array<List> lists(Machine::place, join_.rows());
        Array<std::uint32_t> refused(Machine::place, 1);
        refused.zero();
        Taken taken;
        taken.ms = join_.in_heap(heap, lists.data(), refused.data());
        require(refused.copy()[0] == 0, "the join's heap is too small");
        const std::vector<List> found = lists.copy();
        require(sorted<Machine>(found) == expected_, "the join in a heap is wrong");
        for (const List& list : found) taken.bytes += list.capacity * sizeof(std::uint32_t);
        taken.clear_ms = join_.clear(heap, lists.data());
        return taken;
    }
    Taken in_two_passes() const {
        Array<std::uint32_t> places(Machine::place, join_.rows() + 1);
        places.zero();
        Taken taken;
        taken.ms = join_.count(places.data());
        const std::vector<std::uint32_t> found = places.copy();
        Array<std::uint32_t> matches(Machine::place, found.back());
        taken.ms += join_.write(places.data(), matches.data());
        taken.bytes = places.bytes() + matches.bytes();
        require(sorted(found, matches.copy()) == expected_, "the join in two passes is wrong");
        return taken;
    }

private:
    static std::vector<std::uint32_t> uniform(std::uint32_t rows, std::uint64_t seed) {
        std::mt19937_64 dice(seed);
        std::vector<std::uint32_t> numbers(rows);
        for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(dice() % rows);
        return numbers;
    }

    std::vector<std::uint32_t> probes_;
    std::vector<std::uint32_t> keys_;
    Join<Machine> join_;
    std::vector<std::vector<std::uint32_t>> expected_;
};

/// A graph whose random edges come in batches. Few vertices have most neighbours.
template <class Machine>
class GraphRuns {
public:
    GraphRuns(std::uint32_t vertices, std::uint32_t batches, std::uint32_t batch,
              std::uint64_t seed)
        : vertices_(vertices), expected_(vertices) {
        std::mt19937_64 dice(seed);
        for (std::uint32_t b = 0; b < batches; ++b) {
            std::vector<Edge> edges;
            for (const std::uint32_t from : skewed(batch, vertices, seed + b)) {
                edges.push_back({from, static_cast<std::uint32_t>(dice() % vertices)});
                expected_[from].push_back(edges.back().to);
            }
            batches_.emplace_back(Machine::place, edges);
        }
        for (auto& neighbours : expected_) std::sort(neighbours.begin(), neighbours.end());
    }

    /// @throws std::runtime_error if the heap refuses, or a list is wrong
    template <class Heap>
    Taken in_heap(const Heap& heap) const {
        Array<Vertex> vertices(Machine::place, vertices_);
        Array<std::uint32_t> refused(Machine::place, 1);
        vertices.zero();
        refused.zero();
        Taken taken;
        for (const Array<Edge>& batch : batches_) {
            const auto count = static_cast<std::uint32_t>(batch.size());
            const Array<std::uint32_t> places(Machine::place, count);
            taken.ms +=
                Machine::for_each(count, TakePlaces{batch.data(), vertices.data(), places.data()});
            taken.ms += Machine::for_each(
                count,
                MakeRoom<Heap>{batch.data(), vertices.data(), places.data(), refused.data(), heap});
            taken.ms +=
                Machine::for_each(count, WriteEdges{batch.data(), vertices.data(), places.data()});
        }
        require(refused.copy()[0] == 0, "the graph's heap is too small");
        std::vector<List> lists;
        for (const Vertex& vertex : vertices.copy()) {
            lists.push_back(vertex.neighbours);
            taken.bytes += sizeof(Vertex) + vertex.neighbours.capacity * sizeof(std::uint32_t);
        }
        require(sorted<Machine>(lists) == expected_, "the graph in a heap is wrong");
        taken.clear_ms = Machine::for_each(vertices_, ClearVertices<Heap>{vertices.data(), heap});
        return taken;
    }
    Taken packed() const {
        PackedGraph<Machine> graph(vertices_);
        Taken taken;
        for (const Array<Edge>& batch : batches_) {
            taken.ms += graph.add(batch.data(), static_cast<std::uint32_t>(batch.size()));
        }
        // While a batch is added, the old lists are there, too.
        taken.bytes = 2 * (graph.places().bytes() + graph.neighbours().bytes());
        require(sorted(graph.places().copy(), graph.neighbours().copy()) == expected_,
                "the packed graph is wrong");
        return taken;
    }

private:
    std::uint32_t vertices_;
    std::vector<Array<Edge>> batches_;
    std::vector<std::vector<std::uint32_t>> expected_;
};

}  // namespace heapwood::examples
