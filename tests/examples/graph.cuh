/// @file
/// Example 2: a graph that grows. Edges come in batches, and each vertex has the list of its
/// neighbours.
///
/// With a heap each list grows by itself: a batch costs what it brings. First each edge takes a
/// place in its list by a counter, then the first of each list makes room for all of them, then the
/// edges are written. Without, the lists lie one behind the other, so that all of them are copied
/// for each batch, when a prefix sum has given them their new places.
#pragma once

#include <cstdint>
#include <utility>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "tests/examples/list.cuh"
#include "tests/examples/machine.cuh"

namespace heapwood::examples {

struct Edge {
    std::uint32_t from;
    std::uint32_t to;
};

/// A vertex with a list of its own. All zeroes: it has no neighbour.
struct Vertex {
    List neighbours;
    std::uint32_t wanted;  ///< neighbours, with those of the batch that is being added
};

/// With a heap, first: each edge of a batch takes a place in its vertex's list.
struct TakePlaces {
    /// Marks the first new place of a list.
    static constexpr std::uint32_t kFirst = 1U << 31;

    const Edge* edges;
    Vertex* vertices;
    std::uint32_t* places;
    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        Vertex& vertex = vertices[edges[i].from];
        const std::uint32_t place = platform::AtomicRef(vertex.wanted).add_relaxed(1);
        places[i] = place == vertex.neighbours.count ? place | kFirst : place;
    }
};
/// Second: the edge with a list's first new place makes room for all new ones.
template <class Heap>
struct MakeRoom {
    const Edge* edges;
    Vertex* vertices;
    const std::uint32_t* places;
    std::uint32_t* refused;
    Heap heap;
    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        if ((places[i] & TakePlaces::kFirst) == 0) return;
        Vertex& vertex = vertices[edges[i].from];
        if (vertex.neighbours.make_room(heap, vertex.wanted)) {
            vertex.neighbours.count = vertex.wanted;
        } else {
            vertex.wanted = vertex.neighbours.count;
            platform::AtomicRef(*refused).count_relaxed(1);
        }
    }
};
/// Third: the edges are written, of lists that have room.
struct WriteEdges {
    const Edge* edges;
    const Vertex* vertices;
    const std::uint32_t* places;
    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        const Edge edge = edges[i];
        const List& list = vertices[edge.from].neighbours;
        const std::uint32_t place = places[i] & ~TakePlaces::kFirst;
        if (place < list.count) list.items[place] = edge.to;
    }
};

template <class Heap>
struct ClearVertices {
    Vertex* vertices;
    Heap heap;
    HEAPWOOD_FN void operator()(std::uint32_t i) const { vertices[i].neighbours.clear(heap); }
};

/// Without: how many neighbours each vertex will have.
struct CountOld {
    const std::uint32_t* places;
    std::uint32_t* counts;
    HEAPWOOD_FN void operator()(std::uint32_t vertex) const {
        counts[vertex] = places[vertex + 1] - places[vertex];
    }
};
struct CountNew {
    const Edge* edges;
    std::uint32_t* counts;
    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        platform::AtomicRef(counts[edges[i].from]).count_relaxed(1);
    }
};
/// The old neighbours go to their new place.
struct CopyOld {
    const std::uint32_t* places;
    const std::uint32_t* neighbours;
    const std::uint32_t* new_places;
    std::uint32_t* new_neighbours;
    std::uint32_t* used;  ///< how many each vertex has by now
    HEAPWOOD_FN void operator()(std::uint32_t vertex) const {
        const std::uint32_t count = places[vertex + 1] - places[vertex];
        for (std::uint32_t i = 0; i < count; ++i) {
            new_neighbours[new_places[vertex] + i] = neighbours[places[vertex] + i];
        }
        used[vertex] = count;
    }
};
/// The new ones go behind them.
struct AddNew {
    const Edge* edges;
    const std::uint32_t* new_places;
    std::uint32_t* new_neighbours;
    std::uint32_t* used;
    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        const Edge edge = edges[i];
        const std::uint32_t at = platform::AtomicRef(used[edge.from]).add_relaxed(1);
        new_neighbours[new_places[edge.from] + at] = edge.to;
    }
};

/// The graph as lists that lie one behind the other.
template <class Machine>
class PackedGraph {
public:
    explicit PackedGraph(std::uint32_t vertices)
        : vertices_(vertices),
          places_(Machine::place, vertices + 1),
          new_places_(Machine::place, vertices + 1),
          used_(Machine::place, vertices),
          neighbours_(Machine::place, 0) {
        places_.zero();
    }

    /// Adds a batch. @return milliseconds
    double add(const Edge* edges, std::uint32_t count) {
        edges_ += count;
        Array<std::uint32_t> larger(Machine::place, edges_);
        new_places_.zero();
        double ms = Machine::for_each(vertices_, CountOld{places_.data(), new_places_.data()});
        ms += Machine::for_each(count, CountNew{edges, new_places_.data()});
        ms += Machine::sum_up(new_places_.data(), vertices_ + 1);
        ms +=
            Machine::for_each(vertices_, CopyOld{places_.data(), neighbours_.data(),
                                                 new_places_.data(), larger.data(), used_.data()});
        ms += Machine::for_each(count,
                                AddNew{edges, new_places_.data(), larger.data(), used_.data()});
        std::swap(places_, new_places_);
        neighbours_ = std::move(larger);
        return ms;
    }

    const Array<std::uint32_t>& places() const { return places_; }
    const Array<std::uint32_t>& neighbours() const { return neighbours_; }

private:
    std::uint32_t vertices_;
    std::uint32_t edges_ = 0;
    Array<std::uint32_t> places_;
    Array<std::uint32_t> new_places_;
    Array<std::uint32_t> used_;
    Array<std::uint32_t> neighbours_;
};

}  // namespace heapwood::examples
