/// @file
/// The published tables of builds that are compiled in.
#include "app/inputs/published.h"

#include <gtest/gtest.h>

namespace heapwood::app {
namespace {

const PublishedBuilds& table(std::size_t number) {
    EXPECT_EQ(published_builds().size(), 3U);
    return published_builds().at(number);
}

TEST(PublishedBuilds, SayWhatTheyAre) {
    EXPECT_EQ(table(0).source, "Vinkler & Havran 2014, Table 2");
    EXPECT_EQ(table(1).source, "Vinkler & Havran 2015, Table 3");
    EXPECT_EQ(table(2).source, "Vinkler & Havran 2015, Table 4");
    for (const PublishedBuilds& one : published_builds()) EXPECT_EQ(one.device, "GTX TITAN Black");
    EXPECT_EQ(table(1).pool, "200x");
    EXPECT_EQ(table(2).pool, "20x");
    EXPECT_EQ(table(1).reference, "atomicmalloc");
    EXPECT_EQ(table(1).unit, "ms");
    EXPECT_EQ(table(2).reference, "halloc");
    EXPECT_EQ(table(2).unit, "s");
}

TEST(PublishedBuilds, HaveAValueForEverySceneOfEveryRow) {
    for (const PublishedBuilds& one : published_builds()) {
        EXPECT_GE(one.scenes.size(), 5U);
        for (const PublishedBuildRow& row : one.rows) {
            EXPECT_EQ(row.values.size(), one.scenes.size()) << one.source << " " << row.name;
            for (const std::string& value : row.values) EXPECT_FALSE(value.empty()) << row.name;
        }
    }
}

TEST(PublishedBuilds, AreFoundByRowAndScene) {
    EXPECT_EQ(table(0).value("CFMMalloc", "sponza"), "1.08");
    EXPECT_EQ(table(1).value("AtomicMalloc*_ms", "dragon"), "384.7");
    EXPECT_EQ(table(1).value("N_tris", "dragon"), "871K");
    EXPECT_EQ(table(2).value("ScatterAlloc_8192", "asian_dragon"), "0.61");
    EXPECT_EQ(table(2).value("CFMMalloc", "sponza"), std::nullopt);
    EXPECT_EQ(table(2).value("XMalloc", "powerplant"), std::nullopt);
}

TEST(PublishedBuilds, NameAllocatorsAsTheProgramDoes) {
    for (const PublishedBuildRow& row : table(1).rows) {
        if (row.name == "ScatterAlloc_4096") {
            EXPECT_EQ(row.allocator, "scatteralloc");
        }
        if (row.name == "AWMalloc*") {
            EXPECT_EQ(row.allocator, "awmalloc");
        }
        if (row.name == "CMMalloc") {
            EXPECT_EQ(row.allocator, "cmmalloc");
        }
        if (row.name == "deviation_B" || row.name == "N_ref") {
            EXPECT_EQ(row.allocator, "");
        }
    }
}

}  // namespace
}  // namespace heapwood::app
