/// @file
/// Scenes in pieces are the whole scenes, bit for bit.
#include "scenes/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "scenes/digest.h"
#include "scenes/generators.h"
#include "tests/scenes/temp_folder.h"
#include "tests/seed.h"

namespace heapwood::scenes {
namespace {

class PieceOfGenerator : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, PieceOfGenerator, testing::ValuesIn([] {
                             std::vector<std::string> names;
                             for (const auto& one : generators()) names.emplace_back(one.name);
                             return names;
                         }()),
                         [](const auto& test) { return test.param; });

/// The piece's triangles and positions are those that the whole scene has there.
void expect_of_whole(const Piece& piece, const Scene& whole, std::uint64_t first,
                     std::uint64_t last) {
    ASSERT_EQ(piece.scene.triangles.size(), last - first);
    for (std::uint64_t i = first; i < last; ++i) {
        const glm::uvec3 there = piece.scene.triangles[i - first];
        ASSERT_EQ(there + static_cast<std::uint32_t>(piece.first_position), whole.triangles[i])
            << "triangle " << i << " of " << first << " to " << last;
        for (int corner = 0; corner < 3; ++corner) {
            ASSERT_EQ(piece.scene.positions.at(there[corner]),
                      whole.positions[whole.triangles[i][corner]]);
        }
    }
    if (first == last) return;
    for (std::size_t i = 0; i < piece.scene.positions.size(); ++i) {
        ASSERT_EQ(piece.scene.positions[i], whole.positions.at(piece.first_position + i));
    }
}

TEST_P(PieceOfGenerator, IsWhatTheWholeHasThere) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    for (const std::uint64_t count : {1, 2, 3, 13, 14, 47, 100, 1001, 4097}) {
        const GeneratorRequest request{GetParam(), count, random()};
        const Scene whole = generate(request);
        for (int i = 0; i < 40; ++i) {
            const std::uint64_t first = random() % (count + 1);
            const std::uint64_t last = first + random() % (count - first + 1);
            expect_of_whole(generate(request, first, last), whole, first, last);
        }
    }
}

TEST_P(PieceOfGenerator, HasAllPositionsWithTheOthers) {
    for (const std::uint64_t count : {1, 2, 3, 13, 25, 47, 100, 1001}) {
        const GeneratorRequest request{GetParam(), count, 1};
        const Scene whole = generate(request);
        for (const std::uint64_t size : {1, 2, 7, 24, 100}) {
            std::vector<bool> there(whole.positions.size());
            SceneFacts facts;
            for (std::uint64_t first = 0; first < count; first += size) {
                const Piece piece = generate(request, first, std::min(first + size, count));
                for (std::size_t i = 0; i < piece.scene.positions.size(); ++i) {
                    there.at(piece.first_position + i) = true;
                }
                facts.append(facts_of(piece.scene));
            }
            EXPECT_EQ(std::count(there.begin(), there.end(), false), 0) << count << ", " << size;
            const SceneFacts wanted = facts_of(whole);
            EXPECT_EQ(facts, wanted) << count << ", " << size;
            EXPECT_EQ(facts.degenerate, wanted.degenerate);
            EXPECT_EQ(facts.bounds.lo, whole.bounds.lo);
            EXPECT_EQ(facts.bounds.hi, whole.bounds.hi);
        }
    }
}

TEST(Pieces, ALargeSceneIsNeverWhole) {
    const Scene whole = load("gen:hair:3000000");
    std::uint64_t pieces = 0, triangles = 0, positions = 0;
    SceneFacts facts;
    read_in_pieces("gen:hair:3000000", [&](const Scene& piece, std::uint64_t first_position) {
        ++pieces;
        triangles += piece.triangles.size();
        positions = first_position + piece.positions.size();
        EXPECT_LT(piece.positions.size(), whole.positions.size() / 2);
        facts.append(facts_of(piece));
    });
    EXPECT_EQ(pieces, 3U);
    EXPECT_EQ(triangles, 3'000'000U);
    EXPECT_EQ(positions, whole.positions.size());
    EXPECT_EQ(facts, facts_of(whole));
}

/// Of more positions than a thread takes at a time: against the definition, for finite floats of
/// all sizes.
TEST(Facts, MagnitudesAreThoseOfEachCoordinate) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    std::vector<glm::vec3> positions(200'001);
    const auto bits = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); };
    // Few lowest bits, so that not every list has the least that there is.
    const int least = static_cast<int>(random() % 270) - 149;
    float grain = std::numeric_limits<float>::infinity();
    float largest = 0;
    for (glm::vec3& p : positions) {
        for (int axis = 0; axis < 3; ++axis) {
            float x = bits();
            if (!std::isfinite(x)) x = 0;
            const float step = std::ldexp(1.0F, least);
            if (std::abs(x) > step * 0x1p23F) continue;
            p[axis] = std::trunc(x / step) * step;
            int exponent = 0;
            auto mantissa =
                static_cast<std::int64_t>(std::ldexp(std::frexp(p[axis], &exponent), 24));
            if (mantissa == 0) continue;
            exponent -= 24;
            for (; mantissa % 2 == 0; mantissa /= 2) ++exponent;
            grain = std::min(grain, std::ldexp(1.0F, exponent));
            largest = std::max(largest, std::abs(p[axis]));
        }
    }
    const Magnitudes found = magnitudes(positions);
    EXPECT_EQ(found.grain, grain);
    EXPECT_EQ(found.largest, largest);
}

/// All shares together have the scene's triangles in order.
void expect_shares(const std::string& name) {
    const SceneFacts whole = facts_of(load(name));
    for (const std::uint32_t n : {1U, 2U, 3U, 8U}) {
        SceneFacts facts;
        for (std::uint32_t i = 0; i < n; ++i) facts.append(load_share(name, i, n).facts);
        EXPECT_EQ(facts, whole) << name << " in " << n;
        EXPECT_EQ(facts.bounds.lo, load(name).bounds.lo);
    }
}

TEST(Shares, AreTheWholeScene) {
    for (const auto& generator : generators()) {
        for (const char* count : {":1", ":5", ":1000"}) {
            expect_shares("gen:" + std::string(generator.name) + count);
        }
    }
    const TempFolder folder;
    const std::string path = folder.write("a.obj",
                                          "v 0 0 0\nv 1e9 1e-9 3\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
                                          "f 1 3 4\nf 1 4 5\nf 4 3 5\n");
    expect_shares(path);
    EXPECT_EQ(load_share(path, 1, 3).scene.positions.size(), 3U) << "those of its triangle";
}

TEST(Lists, AreTheirScenesOneAfterAnother) {
    const TempFolder folder;
    const std::string corner = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n";
    folder.write("a.obj", corner + "f 1 2 3\nf 1 2 4\nf 1 3 4\n");
    folder.write("b.obj", corner + "v 5 5 5\nv 1e9 0 0\nf 2 3 5\n");
    const std::string list =
        folder.write("x.list", "# three scenes\n\na.obj\r\n  gen:hair:100:3 \n\t" +
                                   folder.path().string() + "/b.obj");
    const std::string whole =
        folder.write("whole.obj", corner + "f -4 -3 -2\nf -4 -3 -1\nf -4 -2 -1\n" + corner +
                                      "v 5 5 5\nv 1e9 0 0\nf -5 -4 -2\n");
    const std::string both = folder.write("y.list",
                                          "\xEF\xBB\xBF"
                                          "a.obj\nb.obj\n");
    EXPECT_EQ(scenes::digest(load(both)), scenes::digest(load(whole)));
    EXPECT_EQ(facts_of(load(both)), facts_of(load(whole)));
    EXPECT_EQ(load(list).triangles.size(), 104U);
    EXPECT_EQ(load(list).path, list);
    for (const std::string& name : {list, both}) expect_shares(name);
    // A generator of many pieces, whose positions are shared among them.
    const std::string large = folder.write("z.list", "a.obj\ngen:sphere:2200000\nb.obj");
    const Scene wanted = load(large);
    Scene pieces;
    read_in_pieces(large, [&](const Scene& piece, std::uint64_t first_position) {
        const auto base = static_cast<std::uint32_t>(first_position);
        for (const glm::uvec3& t : piece.triangles) pieces.triangles.push_back(t + base);
        pieces.positions.resize(
            std::max<std::size_t>(pieces.positions.size(), base + piece.positions.size()));
        std::copy(piece.positions.begin(), piece.positions.end(), pieces.positions.begin() + base);
    });
    EXPECT_EQ(scenes::digest(pieces), scenes::digest(wanted));
}

TEST(Lists, NameTheLineOfWhatIsWrong) {
    const TempFolder folder;
    folder.write("good.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    folder.write("bad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n");
    const auto expect = [&](const std::string& text, const std::string& words) {
        SCOPED_TRACE(text);
        const std::string list = folder.write("x.list", text);
        const auto why = [&](const auto& act) -> std::string {
            try {
                act();
            } catch (const SceneError& error) {
                return error.what();
            }
            return "loaded";
        };
        for (const std::string& found :
             {why([&] { load(list); }), why([&] { load_share(list, 0, 1); }),
              why([&] { read_in_pieces(list, [](const Scene&, std::uint64_t) {}); })}) {
            EXPECT_NE(found.find(list), found.npos) << found;
            EXPECT_NE(found.find(words), found.npos) << found;
        }
    };
    expect("good.obj\nmissing.obj\n", "x.list:2: ");
    expect("good.obj\nmissing.obj\n", "missing.obj");
    expect("# these\n\nbad.obj\n", "bad.obj:4: face index 4");
    expect("good.obj\ny.list\n", "x.list:2: 'y.list' is a list");
    expect("gen:soup:0", "x.list:1: gen:soup:0");
    expect("# nothing\n", "no scene");
    expect("good.obj\n\x1b[2J.obj\n", "x.list:2: control characters");
    EXPECT_THROW(load((folder.path() / "none.list").string()), SceneError);
    EXPECT_NO_THROW(load_share(folder.write("x.list", "good.obj\nbad.obj\n"), 0, 2))
        << "a share reads its own files alone";
}

TEST(Facts, TellScenesApart) {
    const SceneFacts scene = facts_of(generate({"soup", 100, 1}));
    EXPECT_FALSE(scene == facts_of(generate({"soup", 100, 2})));
    Scene turned = generate({"soup", 100, 1});
    std::swap(turned.triangles[3], turned.triangles[40]);
    EXPECT_FALSE(scene == facts_of(turned));
}

TEST(Facts, MagnitudesTellWhetherAScaleIsExact) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    const auto exact = [](float x, float scale) { return x * scale * (1 / scale) == x; };
    for (int i = 0; i < 100'000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        const float x = std::bit_cast<float>(bits);
        if (!std::isfinite(x) || x == 0) continue;
        const Magnitudes one = magnitudes(std::vector<glm::vec3>{{x, 0, 0}});
        EXPECT_EQ(std::fmod(x, one.grain), 0) << x;
        const float scale = std::ldexp(1.0F, static_cast<int>(random() % 254) - 126);
        EXPECT_EQ(exact(one.grain, scale) && exact(one.largest, scale), exact(x, scale))
            << x << " by " << scale;
    }
}

}  // namespace
}  // namespace heapwood::scenes
