/// @file
/// An OBJ that is read in pieces is what it is as a whole, with the same faults.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "scenes/obj/statement_lines.h"
#include "scenes/obj/text_cutter.h"
#include "tests/scenes/obj/obj_text_generator.h"
#include "tests/scenes/obj/read_outcome.h"
#include "tests/scenes/temp_folder.h"
#include "tests/seed.h"

namespace heapwood::scenes {
namespace {

/// One piece, read by the thread that asks.
std::string as_a_whole(const std::string& path, const ObjLimits& limits) {
    return read_outcome(path, 1, {.piece_bytes = std::size_t{1} << 20, .limits = limits});
}

TEST(ObjPieces, AreTheWholeWhereverItIsCut) {
    const std::uint64_t seed = tests::test_seed();
    ObjTextGenerator generator(seed);
    const TempFolder folder;
    std::map<bool, int> accepted;
    std::set<std::string> kinds;
    for (int round = 0; round < 400; ++round) {
        const std::string text = generator.text(5 + static_cast<unsigned>(generator.below(40)));
        const std::string path = folder.write("random.obj", text);
        ObjLimits limits;
        if (generator.one_in(8)) limits.vertices = generator.below(20);
        if (generator.one_in(8)) limits.triangles = generator.below(20);
        const std::string whole = as_a_whole(path, limits);
        const bool good = whole.find(": digest ") != whole.npos;
        ++accepted[good];
        for (int cuts = 0; cuts < 12; ++cuts) {
            const std::size_t bytes = 1 + generator.below(cuts % 2 == 0 ? 40 : text.size() + 1);
            const auto threads = static_cast<unsigned>(1 + generator.below(4));
            ASSERT_EQ(read_outcome(path, threads, {.piece_bytes = bytes, .limits = limits}), whole)
                << "pieces of " << bytes << " bytes, " << threads << " threads, of\n"
                << text;
        }
    }
    EXPECT_GT(accepted[true], 40);
    EXPECT_GT(accepted[false], 40);
}

TEST(ObjPieces, AreTheWholeForEverySizeOfAPiece) {
    const std::uint64_t seed = tests::test_seed();
    ObjTextGenerator generator(seed);
    const TempFolder folder;
    for (int round = 0; round < 8; ++round) {
        const std::string text = generator.text(20);
        const std::string path = folder.write("random.obj", text);
        const std::string whole = as_a_whole(path, {});
        for (std::size_t bytes = 1; bytes <= text.size() + 1; ++bytes) {
            ASSERT_EQ(read_outcome(path, 2, {.piece_bytes = bytes}), whole)
                << "pieces of " << bytes << " bytes of\n"
                << text;
        }
    }
}

TEST(ObjPieces, OfAScene) {
    const TempFolder folder;
    // Quads whose corners are in the piece before, in this one and behind it.
    std::string text;
    for (int i = 0; i < 2000; ++i) {
        text += "v " + std::to_string(i) + " 0 0\nv " + std::to_string(i) + " 1 " +
                std::to_string(i % 7) + "\n";
        if (i > 0) text += "f -4 -2 -1 -3\n";
        const int from = (i * 37) % 1999 * 2 + 1;
        text += "f " + std::to_string(from) + " " + std::to_string(from + 2) + " " +
                std::to_string(from + 3) + " " + std::to_string(from + 1) + "\n";
    }
    const std::string path = folder.write("strip.obj", text);
    const std::string whole = as_a_whole(path, {});
    EXPECT_NE(whole.find("vertices 4000, triangles 7998"), whole.npos) << whole;
    for (const unsigned threads : {1U, 2U, 5U}) {
        for (const std::size_t bytes : {100U, 1000U, 10'000U}) {
            EXPECT_EQ(read_outcome(path, threads, {.piece_bytes = bytes}), whole);
        }
    }
}

/// The pieces of a text, of about so many bytes.
std::vector<std::string> cut(std::string_view text, std::size_t bytes) {
    class Whole : public ByteSource {
    public:
        explicit Whole(std::string_view text) : left_(text) {}
        std::size_t read(char* to, std::size_t size) override {
            const std::size_t count = left_.copy(to, size);
            left_.remove_prefix(count);
            return count;
        }

    private:
        std::string_view left_;
    };
    Whole source(text);
    TextCutter cutter(source, bytes);
    std::vector<std::string> all;
    for (ObjText piece; cutter.next(piece);)
        all.emplace_back(piece.bytes.begin(), piece.bytes.end());
    return all;
}

TEST(ObjPieces, EndWithAStatement) {
    using Pieces = std::vector<std::string>;
    EXPECT_EQ(cut("v 1\nv 2\nv 3\n", 9), (Pieces{"v 1\nv 2\n", "v 3\n"}));
    EXPECT_EQ(cut("v 1\r\nv 2\r\nv 3", 9), (Pieces{"v 1\r\n", "v 2\r\nv 3"}));
    EXPECT_EQ(cut("v 1\rv 2\rv 3\r", 9), (Pieces{"v 1\rv 2\r", "v 3\r"}));
    EXPECT_EQ(cut("v 1\nv 2 \\\n\n\n3\nv 4\n", 12), (Pieces{"v 1\n", "v 2 \\\n\n\n3\n", "v 4\n"}));
    EXPECT_EQ(cut("v 1 \\\n\\\n\\\n\\\n2\nv 3\n", 4), (Pieces{"v 1 \\\n\\\n\\\n\\\n2\n", "v 3\n"}));
    EXPECT_EQ(cut("\n\n\n\n\n\n", 3), (Pieces{"\n\n\n", "\n\n\n"}));
    EXPECT_EQ(cut("\xEF\xBB\xBFv 1\nv 2\n", 4), (Pieces{"v 1\n", "v 2\n"}));
    EXPECT_EQ(cut("\xEF\xBB\xBF", 4), Pieces{});
    EXPECT_EQ(cut("v 1 2 3 4 5 6", 2), Pieces{"v 1 2 3 4 5 6"});
}

TEST(ObjPieces, WithoutAPlaceToCutAreReadAsTheyCome) {
    const std::string zeros = "/dev/zero";
    if (access(zeros.c_str(), R_OK) != 0) GTEST_SKIP() << "needs /dev/zero";
    EXPECT_EQ(read_outcome(zeros, 3, {}),
              zeros + ":1: line of more than 64 MiB; this is no text in the OBJ format");
}

/// Writes a line to a pipe over and over, at most 256 MiB. @return whether the reader closed it.
bool fill_pipe(const std::string& path, const std::string& line) {
    std::string block;
    while (block.size() < 65536) block += line;
    std::ofstream pipe(path);
    for (std::size_t written = 0; written < (std::size_t{256} << 20); written += block.size()) {
        if (!pipe.write(block.data(), static_cast<std::streamsize>(block.size()))) return true;
    }
    return false;
}

TEST(ObjPieces, AreNotReadBehindAFault) {
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    const TempFolder folder;
    for (const auto& [line, message] : std::map<std::string, std::string>{
             {"f -1 -2 -3\n", "face index -1 is out of range; only 0 vertices precede it"},
             {"f 1 2\n", "face of 2 vertices; a face needs 3 or more"}}) {
        const std::string path = (folder.path() / "pipe.obj").string();
        ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
        bool closed = false;
        std::thread writer([&] { closed = fill_pipe(path, line); });
        EXPECT_EQ(read_outcome(path, 2, {}), path + ":1: " + message);
        writer.join();
        EXPECT_TRUE(closed) << "all of it was read";
        unlink(path.c_str());
    }
    std::signal(SIGPIPE, before);
}

TEST(ObjPieces, OfWhatIsNoObjNameTheFirstStrangeLine) {
    const TempFolder folder;
    std::string text;
    for (int i = 0; i < 9; ++i) text += "v 0 0 0\n\n";
    const std::string path = folder.write("strange.obj", text + "facet\nv 0 0 0\nsolid\n");
    for (const std::size_t bytes : {1U, 20U, 1000U}) {
        EXPECT_EQ(read_outcome(path, 2, {.piece_bytes = bytes}),
                  path +
                      ": no triangle, 10 vertices; is it a Wavefront OBJ? Line 19 begins with "
                      "'facet', which is none of its keywords");
    }
}

TEST(ObjPieces, LimitsNameTheLineOfWhatIsTooMuch) {
    const TempFolder folder;
    const std::string text = "v 0 0 0\nv 1 0 0\n\nv 0 1 0\nf 1 2 3\nv 1 1 0\nf 1 2 4 3\nf 1 2 3\n";
    const std::string path = folder.write("limits.obj", text);
    for (const std::size_t bytes : {1U, 20U, 1000U}) {
        EXPECT_EQ(read_outcome(path, 2, {.piece_bytes = bytes, .limits = {.vertices = 3}}),
                  path + ":6: more than 3 vertices; that is more than indices can name");
        for (const std::uint64_t most : {1U, 2U}) {
            EXPECT_EQ(read_outcome(path, 2, {.piece_bytes = bytes, .limits = {.triangles = most}}),
                      path + ":7: more than " + std::to_string(most) +
                          " triangles; that is more than a tree can hold");
        }
        EXPECT_EQ(read_outcome(path, 2, {.piece_bytes = bytes, .limits = {.triangles = 3}}),
                  path + ":8: more than 3 triangles; that is more than a tree can hold");
    }
}

TEST(StatementLines, KnowTheLineOfEveryItem) {
    const std::uint64_t seed = tests::test_seed();
    ObjTextGenerator dice(seed);
    for (int round = 0; round < 100; ++round) {
        StatementLines lines;
        std::vector<std::uint64_t> expected;
        std::uint64_t line = 0;
        for (std::uint64_t i = dice.below(30); i > 0; --i) {
            line += dice.one_in(3) ? 1 + dice.below(5) : 1;
            const std::uint64_t items = dice.one_in(3) ? 1 + dice.below(4) : 1;
            lines.add(line, static_cast<std::uint32_t>(items));
            expected.insert(expected.end(), items, line);
        }
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(lines.line_of(i), expected[i]);
        }
        for (std::uint64_t at = 0; at <= line + 2; ++at) {
            const auto before = std::lower_bound(expected.begin(), expected.end(), at);
            EXPECT_EQ(lines.items_before(at), before - expected.begin());
        }
    }
}

}  // namespace
}  // namespace heapwood::scenes
