/// @file
/// The arrays of a graph, updated with an allocator that checks what comes back, against sets of
/// edges; and with one that refuses.
#include "allocators/measure/adjacency.cuh"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::adjacency_bytes;
using allocators::Counts;
using allocators::EdgeBatch;
using allocators::EdgeCopy;

/// The system's memory, by one thread, with the sizes that were asked for.
struct Ledger {
    std::map<void*, std::size_t> live;
    std::uint64_t faults = 0;  ///< frees of no block, or with another size
    bool refuses = false;

    ~Ledger() {
        for (const auto& [block, bytes] : live) std::free(block);
    }

    struct Ref {
        Ledger* ledger;

        void* allocate(const allocators::Context&, std::size_t bytes) const {
            if (ledger->refuses) return nullptr;
            void* block = std::malloc(bytes);
            ledger->live[block] = bytes;
            return block;
        }
        void deallocate(const allocators::Context&, void* block, std::size_t bytes) const {
            const auto found = ledger->live.find(block);
            if (found == ledger->live.end() || found->second != bytes) {
                ++ledger->faults;
                return;
            }
            ledger->live.erase(found);
            std::free(block);
        }
    };
};

using Sets = std::vector<std::set<std::uint32_t>>;

/// A graph in arrays.
struct Arrays {
    explicit Arrays(std::uint32_t vertices) : arrays(vertices), degrees(vertices) {
        for (void*& array : arrays) array = Ledger::Ref{&ledger}.allocate({}, adjacency_bytes(0));
    }

    /// Edges by their sources, inserted or deleted.
    void update(bool insert, const std::map<std::uint32_t, std::set<std::uint32_t>>& edges) {
        std::vector<std::uint32_t> vertices;
        std::vector<std::uint32_t> first{0};
        std::vector<std::uint32_t> targets;
        for (const auto& [vertex, of] : edges) {
            vertices.push_back(vertex);
            targets.insert(targets.end(), of.begin(), of.end());
            first.push_back(static_cast<std::uint32_t>(targets.size()));
        }
        EdgeBatch batch;
        batch.insert = insert;
        batch.count = true;
        batch.sources = static_cast<std::uint32_t>(vertices.size());
        batch.vertices = vertices.data();
        batch.first = first.data();
        batch.targets = targets.data();
        batch.arrays = arrays.data();
        batch.degrees = degrees.data();
        batch.counts = &counts;
        for (std::uint32_t source = 0; source < batch.sources; ++source) {
            update_vertex(Ledger::Ref{&ledger}, {}, batch, source);
        }
    }

    Sets sets() const {
        Sets all(arrays.size());
        for (std::size_t v = 0; v < arrays.size(); ++v) {
            const auto* array = static_cast<const std::uint32_t*>(arrays[v]);
            all[v].insert(array, array + degrees[v]);
            EXPECT_EQ(all[v].size(), degrees[v]) << "an edge is there twice";
            EXPECT_EQ(ledger.live.at(arrays[v]), adjacency_bytes(degrees[v]));
        }
        return all;
    }

    Ledger ledger;
    std::vector<void*> arrays;
    std::vector<std::uint32_t> degrees;
    Counts counts{};
};

TEST(Adjacency, HasAPowerOfTwoFrom16BytesOn) {
    for (std::uint32_t edges = 0; edges < 5000; ++edges) {
        EXPECT_EQ(adjacency_bytes(edges), std::max(16U, std::bit_ceil(4 * edges))) << edges;
    }
    EXPECT_EQ(adjacency_bytes((1U << 29) - 1), 1U << 31);
}

TEST(Adjacency, FollowsRandomBatches) {
    constexpr std::uint32_t kVertices = 40;
    std::mt19937_64 random(test_seed());
    Arrays graph(kVertices);
    Sets expected(kVertices);
    std::uint64_t moves = 0;
    for (int batch = 0; batch < 300; ++batch) {
        const bool insert = random() % 2 == 0;
        // Some batches have one vertex only, some have many of its edges.
        const std::uint64_t sources = random() % 3 == 0 ? 1 : kVertices;
        std::map<std::uint32_t, std::set<std::uint32_t>> edges;
        for (std::uint64_t i = random() % 200; i > 0; --i) {
            const auto source = static_cast<std::uint32_t>(random() % sources);
            const auto target = static_cast<std::uint32_t>(random() % 300);
            if ((expected[source].count(target) == 0) == insert) edges[source].insert(target);
        }
        for (const auto& [source, targets] : edges) {
            const std::size_t before = expected[source].size();
            for (const std::uint32_t target : targets) {
                if (insert) {
                    expected[source].insert(target);
                } else {
                    expected[source].erase(target);
                }
            }
            const std::size_t after = expected[source].size();
            moves += std::max<std::size_t>(4, std::bit_ceil(before)) !=
                     std::max<std::size_t>(4, std::bit_ceil(after));
        }
        graph.update(insert, edges);
        ASSERT_EQ(graph.sets(), expected);
    }
    EXPECT_GT(moves, 20U);
    EXPECT_EQ(graph.counts, (Counts{moves, moves, 0, 0}));
    EXPECT_EQ(graph.ledger.faults, 0U);
    EXPECT_EQ(graph.ledger.live.size(), kVertices);
}

TEST(Adjacency, KeepsTheArrayOfAVertexThatIsRefusedAnother) {
    Arrays graph(2);
    graph.update(true, {{0, {1, 2, 3, 4, 5}}, {1, {7}}});
    graph.ledger.refuses = true;
    // Vertex 0 would need 64 bytes; 16 are enough for vertex 1.
    graph.update(true, {{0, {11, 12, 13, 14}}, {1, {8, 9, 10}}});
    EXPECT_EQ(graph.sets(), (Sets{{1, 2, 3, 4, 5}, {7, 8, 9, 10}}));
    EXPECT_EQ(graph.counts.failed, 1U);
    // Vertex 0 would need 16.
    graph.update(false, {{0, {1}}, {1, {8}}});
    EXPECT_EQ(graph.sets(), (Sets{{1, 2, 3, 4, 5}, {7, 9, 10}}));
    EXPECT_EQ(graph.counts.failed, 2U);
    EXPECT_EQ(graph.counts.corrupt, 0U);
}

TEST(Adjacency, NoticesOtherEdgesThanThoseThatWereThere) {
    for (const std::uint32_t wrong : {2U, 100U}) {
        Arrays graph(1);
        graph.update(true, {{0, {1, 2, 3, 4, 5, 6}}});
        // One that is to go is gone, or one that is to stay is another that is to go.
        static_cast<std::uint32_t*>(graph.arrays[0])[wrong == 2 ? 2 : 1] = wrong;
        graph.update(false, {{0, {1, 2}}});
        EXPECT_EQ(graph.counts.corrupt, 1U) << wrong;
        EXPECT_EQ(graph.ledger.faults, 0U);
    }
}

TEST(EdgeCopy, GoesToTheArraysAndBack) {
    std::mt19937_64 random(test_seed());
    std::vector<std::vector<std::uint32_t>> rows(50);
    std::vector<std::uint64_t> first{0};
    std::vector<std::uint32_t> targets;
    std::vector<void*> arrays;
    for (std::vector<std::uint32_t>& row : rows) {
        const std::size_t degree = random() % 30;
        for (std::size_t i = 0; i < degree; ++i) {
            targets.push_back(static_cast<std::uint32_t>(random()));
        }
        first.push_back(targets.size());
        row.resize(degree + 1, 77);  // its last word is none of its own
        arrays.push_back(row.data());
    }
    const auto copy = [&](bool gather, std::vector<std::uint32_t>& edges) {
        const EdgeCopy all{gather, 50, arrays.data(), first.data(), edges.data()};
        for (std::uint64_t i = 0; i < 50 * allocators::kTouchers; ++i) copy_edges(all, i);
    };
    copy(false, targets);
    for (std::size_t v = 0; v < rows.size(); ++v) {
        EXPECT_TRUE(std::equal(rows[v].begin(), rows[v].end() - 1,
                               targets.begin() + static_cast<std::ptrdiff_t>(first[v])));
        EXPECT_EQ(rows[v].back(), 77U);
    }
    std::vector<std::uint32_t> back(targets.size());
    copy(true, back);
    EXPECT_EQ(back, targets);
}

}  // namespace
}  // namespace heapwood::tests
