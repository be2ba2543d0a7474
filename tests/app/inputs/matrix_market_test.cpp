/// @file
/// Matrix Market files as graphs: what is read of them, and what is wrong with those that are
/// damaged.
#include "app/inputs/matrix_market.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "app/inputs/input_lines.h"
#include "scenes/scene.h"
#include "tests/app/temporary_folder.h"
#include "tests/seed.h"

namespace heapwood::app {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

const std::string kBanner = "%%MatrixMarket matrix coordinate ";

/// The graph of a file with this text.
Graph read(const std::string& text) {
    const TemporaryFolder folder;
    std::ofstream(folder.path("x.mtx"), std::ios::binary) << text;
    return read_matrix_market(folder.path("x.mtx"));
}

/// What is said of a file with this text, without the folder that it is in; nothing if it is read.
std::string complaint(const std::string& text) {
    try {
        (void)read(text);
    } catch (const InputError& error) {
        const std::string what = error.what();
        return what.substr(what.find("x.mtx"));
    }
    return "";
}

void expect_equal(const Graph& found, const Graph& expected) {
    EXPECT_EQ(found.first, expected.first);
    EXPECT_EQ(found.targets, expected.targets);
}

TEST(MatrixMarket, HasValuesAndSymmetriesOfAllKinds) {
    const Graph graph = graph_of(4, {{1, 0}, {3, 2}, {0, 3}});
    for (const auto& [kind, value] : std::vector<std::pair<std::string, std::string>>{
             {"pattern", ""},
             {"real", " -1.5e3"},
             {"integer", " 7"},
             {"complex", " 0.5 -2"},
             {"double", " 1e-400"},
             {"unsigned-integer", " 18446744073709551616"},
             {"iso64", ""},
             {"float", " +1.5"},
             {"Boolean", " 1"},
             {"complex128", " 1 -inf"}}) {
        for (const char* symmetry : {"general", "symmetric", "skew-symmetric", "hermitian"}) {
            SCOPED_TRACE(kind + " " + symmetry);
            expect_equal(read(kBanner + kind + " " + symmetry + "\n4 4 3\n2 1" + value + "\n4 3" +
                              value + "\n4 1" + value + "\n"),
                         graph);
        }
    }
}

TEST(MatrixMarket, HasEachEdgeOnceAndNoSelfLoops) {
    // Both directions, one twice; the diagonal, also of a vertex that is alone.
    expect_equal(read(kBanner + "pattern general\n5 5 7\n1 1\n2 1\n1 2\n2 1\n5 2\n4 4\n5 5\n"),
                 graph_of(5, {{0, 1}, {1, 4}}));
}

TEST(MatrixMarket, CountsEveryEntryWhateverItsValue) {
    expect_equal(read(kBanner + "real general\n4 4 4\n1 2 0\n2 3 nan\n3 4 -inf\n4 1 1e999\n"),
                 graph_of(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
    expect_equal(read(kBanner + "real general\n4 4 4\n1 2 1.0D+00\n2 3 +.5\n3 4 -1.\n4 1 " +
                      std::string(1000, '1') + "\n"),
                 graph_of(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
}

TEST(MatrixMarket, MayBeLaidOutInOtherWays) {
    const Graph graph = graph_of(3, {{0, 2}, {1, 2}});
    expect_equal(read("%%matrixmarket MATRIX\tCoordinate Pattern  Symmetric \r\n"
                      "% a comment\r\n%\r\n\r\n 3\t3 2\r\n\r\n3 1\r\n%between\r\n  3  2 \r\n\r\n"),
                 graph);
    expect_equal(read(kBanner + "pattern symmetric\n3 3 2\n3 1\n3 2"), graph);
    expect_equal(read(kBanner.substr(1) + "pattern symmetric\n3 3 2\n3 1\n3 2\n"), graph);
    expect_equal(read("\xEF\xBB\xBF" + kBanner + "pattern symmetric\n3 3 2\n3 1\n3 2\n"), graph);
    expect_equal(read(kBanner + "pattern symmetric\n3 3 2\n1 3\n2 3\n"), graph);  // upper triangle
}

TEST(MatrixMarket, MayHaveManyEntries) {
    std::mt19937_64 random(tests::test_seed());
    constexpr std::uint32_t kVertices = 1000;
    Edges edges;
    std::string text;
    while (edges.size() < 150000) {
        edges.emplace_back(random() % kVertices, random() % kVertices);
        text += std::to_string(edges.back().first + 1) + " " +
                std::to_string(edges.back().second + 1) + " 0.25\n";
    }
    const std::string header = kBanner + "real general\n1000 1000 150000\n";
    expect_equal(read(header + text), graph_of(kVertices, edges));
    // A value that is no number.
    const auto line = static_cast<std::ptrdiff_t>(80000 + random() % 1000);
    std::size_t at = 0;
    for (std::ptrdiff_t i = 0; i < line; ++i) at = text.find('\n', at) + 1;
    text.replace(text.find(" 0.25", at), 5, " none");
    EXPECT_EQ(
        complaint(header + text).find("x.mtx:" + std::to_string(line + 3) + ": this is no entry"),
        0U)
        << complaint(header + text);
}

TEST(MatrixMarket, SaysWhatIsWrongAndWhere) {
    const std::string pattern = kBanner + "pattern general\n";
    const std::string real = kBanner + "real general\n";
    const std::vector<std::pair<std::string, std::string>> all{
        {"no matrix\n", "x.mtx:1: the first line of a Matrix Market file is"},
        {"3 3 1\n2 1\n", "x.mtx:1: the first line"},
        {"%%MatrixMarket vector coordinate real general\n3 1\n2 1\n", "x.mtx:1: the first line"},
        {kBanner + "real\n3 3 1\n2 1 1\n", "x.mtx:1: the first line"},
        {kBanner + "real general more\n3 3 1\n2 1 1\n", "x.mtx:1: the first line"},
        {"%%MatrixMarket matrix array real general\n1 1\n1\n", "x.mtx:1: a matrix in array format"},
        {"%%MatrixMarket matrix list real general\n1 1\n1\n", "x.mtx:1: 'list' is none of"},
        {kBanner + "pattern square\n3 3 1\n2 1\n", "x.mtx:1: 'square' is none of general, sym"},
        {pattern, "x.mtx:1: before the entries there is no line"},
        {pattern + "% 3 3 1\n", "x.mtx:2: before the entries"},
        {pattern + "3 3\n2 1\n", "x.mtx:2: before the entries"},
        {pattern + "3 3 1 1\n2 1\n", "x.mtx:2: before the entries"},
        {pattern + "-3 3 1\n2 1\n", "x.mtx:2: '-3' is no number of rows"},
        {pattern + "3 3 -1\n2 1\n", "x.mtx:2: '-1' is no number of rows"},
        {pattern + "3 3 1.0\n2 1\n", "x.mtx:2: '1.0' is no number of rows"},
        {pattern + "3 99999999999999999999 1\n2 1\n", "x.mtx:2: '99999999999999999999' is no"},
        {pattern + "3 5 1\n2 1\n", "x.mtx:2: the matrix of a graph is square"},
        {pattern + "0 0 0\n", "x.mtx:2: the matrix has no entries"},
        {pattern + "3 3 0\n", "x.mtx:2: the matrix has no entries"},
        {pattern + "536870913 536870913 536870913\n2 1\n", "x.mtx:2: the matrix has more rows"},
        {pattern + "536870912 536870912 2\n2 1\n3 2\n", "x.mtx:2: there are 536,870,912 rows for"},
        {pattern + "536870912 536870912 536870912\n2 1\n",
         "x.mtx:3: the file ends after 1 entries"},
        {pattern + "3 3 18446744073709551615\n2 1\n", "x.mtx:3: the file ends after 1 entries"},
        {pattern + "3 3 3\n2 1\n3 2\n", "x.mtx:4: the file ends after 2 entries, but line 2"},
        {pattern + "%\n3 3 1\n2 1\n3 2\n", "x.mtx:5: more entries than the 1 that line 3 promises"},
        {pattern + "3 3 1\n4 1\n", "x.mtx:3: row or column 4 is out of range; they are from 1 to"},
        {pattern + "3 3 1\n1 4\n", "x.mtx:3: row or column 4"},
        {pattern + "3 3 1\n0 1\n", "x.mtx:3: row or column 0"},
        {pattern + "3 3 1\n-1 1\n", "x.mtx:3: '-1' is no row or column"},
        {pattern + "3 3 1\n2.5 1\n", "x.mtx:3: '2.5' is no row or column"},
        {pattern + "3 3 1\nnan 1\n", "x.mtx:3: 'nan' is no row or column"},
        {pattern + "3 3 1\n18446744073709551618 1\n", "x.mtx:3: '18446744073709551618' is no"},
        {pattern + "3 3 1\n2\n", "x.mtx:3: an entry has 2 numbers here"},
        {pattern + "3 3 1\n2 1 5\n", "x.mtx:3: an entry has 2 numbers here"},
        {pattern + std::string("3 3 1\n\0\0\0\n", 10), "x.mtx:3: an entry has 2 numbers here"},
        {real + "3 3 2\n2 1 1\n3 1\n", "x.mtx:4: an entry has 3 numbers here"},
        {real + "3 3 1\n2 1 1 1\n", "x.mtx:3: an entry has 3 numbers here"},
        {real + "3 3 2\n2 1 one\n3 1 1\n", "x.mtx:3: this is no entry"},
        {real + "3 3 2\n2 1 1\n3 1 %\n", "x.mtx:4: this is no entry"},
        {kBanner + "complex general\n3 3 2\n2 1 1 1\n3 1 1 i\n", "x.mtx:4: this is no entry"},
        {kBanner + "double general\n3 3 2\n2 1 1\n3 1\n", "x.mtx:4: an entry has 3 numbers here"},
        {kBanner + "double general\n3 3 2\n2\n3 1\n", "x.mtx:3: an entry has 2 numbers here"},
        {kBanner + "double general\n3 3 1\n2 1 1 1 1\n", "x.mtx:3: an entry has 4 numbers here"},
        {kBanner + "double general\n3 3 2\n2 1 1 3 1 1\n", "x.mtx:3: an entry has 4 numbers here"},
        {"%%%MatrixMarket matrix coordinate real general\n3 3 1\n2 1 1\n",
         "x.mtx:1: the first line"},
        {real + "3 3 1\n2 2 1\n", "x.mtx:3: the graph has no edge between two vertices"},
    };
    for (const auto& [text, start] : all) {
        const std::string said = complaint(text);
        EXPECT_EQ(said.find(start), 0U) << text.substr(0, 100) << "\n" << said;
        EXPECT_TRUE(said.ends_with("; correct the file, or fetch it again")) << said;
    }
    EXPECT_THROW(read(""), scenes::SceneError);
    EXPECT_THROW(read_matrix_market("no-such-file.mtx"), scenes::SceneError);
}

TEST(MatrixMarket, IsAGraphOrNoneHoweverItIsDamaged) {
    std::mt19937_64 random(tests::test_seed());
    const std::string sound = kBanner + "complex hermitian\n% c\n30 30 5\n" +
                              "2 1 1 0\n13 2 0.5 -1\n30 29 1e3 .5\n7 7 1 0\n22 3 -4 4\n";
    ASSERT_EQ(complaint(sound), "");
    for (int round = 0; round < 3000; ++round) {
        std::string text = sound;
        for (std::uint64_t i = 1 + random() % 3; i > 0; --i) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = static_cast<char>(random());
                    break;
                case 1:
                    text.erase(at, 1 + random() % 8);
                    break;
                case 2:
                    text.insert(at, text.substr(random() % text.size(), random() % 20));
                    break;
                default:
                    text[at] = "0123456789 \n-.%"[random() % 15];
            }
        }
        try {
            const Graph graph = read(text);
            ASSERT_EQ(graph.first.back(), graph.targets.size());
            for (const std::uint32_t target : graph.targets) ASSERT_LT(target, graph.vertices());
        } catch (const InputError&) {
            // Said by a sentence.
        } catch (const scenes::SceneError&) {
            // All was erased.
        }
    }
}

TEST(MatrixMarket, IsToldByItsGraph) {
    const TemporaryFolder folder;
    const std::string path = folder.path("x.mtx");
    std::ofstream(path) << kBanner << "pattern general\n6 6 6\n1 2\n3 1\n1 4\n5 1\n6 1\n2 1\n";
    const GraphFile file = read_graph(path);
    EXPECT_EQ(file.path, path);
    EXPECT_EQ(file.vertices, 6U);
    EXPECT_EQ(file.edges, 5U);
    EXPECT_EQ(file.greatest_degree, 5U);
    EXPECT_EQ(file.array_bytes, 5 * 16 + 32U);
    EXPECT_EQ(file.digest, digest(graph_of(6, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}})));
    EXPECT_EQ(file.digest.size(), 16U);
    EXPECT_NE(file.digest, digest(graph_of(6, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 5}})));
    EXPECT_NE(file.digest, digest(graph_of(7, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}})));
}

}  // namespace
}  // namespace heapwood::app
