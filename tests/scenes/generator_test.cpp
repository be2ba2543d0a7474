/// @file
/// The generators: what they are asked for, what they promise, and that every bit is always the
/// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "scenes/generators.h"
#include "scenes/random.h"

namespace heapwood::scenes {
namespace {

/// FNV-1a, 64 bits, over the words of positions and triangles, lowest byte first.
std::uint64_t digest(const Scene& scene) {
    std::uint64_t hash = 0xCBF29CE484222325u;
    const auto add = [&](std::uint32_t word) {
        for (int byte = 0; byte != 4; ++byte) {
            hash = (hash ^ (word >> 8 * byte & 0xFF)) * 0x100000001B3u;
        }
    };
    for (const glm::vec3& p : scene.positions) {
        for (int axis = 0; axis != 3; ++axis) add(std::bit_cast<std::uint32_t>(p[axis]));
    }
    for (const glm::uvec3& t : scene.triangles) {
        for (int corner = 0; corner != 3; ++corner) add(t[corner]);
    }
    return hash;
}

Scene make(const std::string& generator, std::uint64_t triangles, std::uint64_t seed = 1) {
    return generate({generator, triangles, seed});
}

class EveryGenerator : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryGenerator, testing::ValuesIn([] {
                             std::vector<std::string> names;
                             for (const auto& one : generators()) names.emplace_back(one.name);
                             return names;
                         }()),
                         [](const auto& test) { return test.param; });

TEST_P(EveryGenerator, GivesExactlyTheTrianglesAskedFor) {
    for (const std::uint64_t count :
         {1, 2, 3, 7, 8, 9, 11, 12, 13, 14, 15, 47, 48, 49, 100, 1000, 1001, 4097, 30'000}) {
        for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
            const Scene scene = make(GetParam(), count, seed);
            ASSERT_EQ(scene.triangles.size(), count);
            for (const glm::uvec3& t : scene.triangles) {
                ASSERT_LT(std::max({t.x, t.y, t.z}), scene.positions.size());
            }
            for (const glm::vec3& p : scene.positions) {
                for (int axis = 0; axis != 3; ++axis) {
                    ASSERT_TRUE(std::isfinite(p[axis]));
                    ASSERT_FALSE(p[axis] == 0 && std::signbit(p[axis]));
                }
            }
            EXPECT_EQ(scene.degenerate, 0u) << count << " triangles, seed " << seed;
        }
    }
}

TEST_P(EveryGenerator, DependsOnTheSeed) {
    EXPECT_EQ(digest(make(GetParam(), 500, 7)), digest(make(GetParam(), 500, 7)));
    EXPECT_NE(digest(make(GetParam(), 500, 7)), digest(make(GetParam(), 500, 8)));
}

TEST_P(EveryGenerator, IsLoadedByItsName) {
    const std::string name = "gen:" + GetParam() + ":123:45";
    const Scene scene = load(name);
    EXPECT_EQ(scene.path, name);
    EXPECT_EQ(digest(scene), digest(make(GetParam(), 123, 45)));
    EXPECT_EQ(digest(load("gen:" + GetParam() + ":123")), digest(make(GetParam(), 123, 1)));
}

/// Recorded once. A change here changes every published figure about generated scenes.
TEST(Generators, AreTheSameToTheLastBitEverywhere) {
    const std::map<std::string, std::uint64_t> recorded = {
        {"sphere", 0xD46A4062D0913A4Du},     {"terrain", 0xC38036F182DA85BCu},
        {"city", 0x410C5849AC3F9906u},       {"soup", 0x091F839E39AE50F9u},
        {"hair", 0xEDFFFC2CCC455C13u},       {"stadium", 0xD6A626BA85A65B16u},
        {"slivers", 0xC6C0C02D510606B4u},    {"plane", 0x74A1D3CEAA9CC833u},
        {"coincident", 0x90365C3C12E32148u},
    };
    ASSERT_EQ(generators().size(), recorded.size());
    for (const auto& [name, expected] : recorded) {
        const std::uint64_t actual = digest(make(name, 1000));
        EXPECT_EQ(actual, expected) << name << " 0x" << std::hex << actual;
    }
}

TEST(Generators, MixIsSplitMix64) {
    // The first outputs of SplitMix64 with seed 1234567, as published with its reference code.
    constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
    EXPECT_EQ(mix(1234567 + kStep), 6457827717110365317u);
    EXPECT_EQ(mix(1234567 + 2 * kStep), 3203168211198807973u);
    EXPECT_EQ(mix(1234567 + 3 * kStep), 9817491932198370423u);
}

TEST(Generators, RandomNumbersAreUniform) {
    Random random(1);
    std::array<int, 10> bins{};
    constexpr int kCount = 100'000;
    for (int i = 0; i != kCount; ++i) ++bins[static_cast<std::size_t>(10 * random.unit())];
    // Each bin is binomial with a standard deviation of 95.
    for (const int bin : bins) EXPECT_NEAR(bin, kCount / 10, 6 * 95);
}

TEST(Generators, NoiseIsSmoothAndBounded) {
    const Noise noise(3);
    double previous = noise({-5, 0.25, 0.5}), lowest = 1, highest = -1;
    for (int i = 1; i <= 100'000; ++i) {
        const double value = noise({-5 + i * 1e-4, 0.25, 0.5});
        // The blend's slope is at most 1.5 between values 2 apart.
        ASSERT_LE(std::abs(value - previous), 3.01e-4);
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
        previous = value;
    }
    EXPECT_GE(lowest, -1);
    EXPECT_LE(highest, 1);
    EXPECT_GT(highest - lowest, 0.5);
}

using Edge = std::pair<std::array<float, 3>, std::array<float, 3>>;

/// How often each edge occurs, by the positions of its ends.
std::map<Edge, int> edges(const Scene& scene) {
    std::map<Edge, int> count;
    for (const glm::uvec3& t : scene.triangles) {
        for (int corner = 0; corner != 3; ++corner) {
            const glm::vec3 a = scene.positions[t[corner]],
                            b = scene.positions[t[(corner + 1) % 3]];
            Edge edge{{a.x, a.y, a.z}, {b.x, b.y, b.z}};
            if (edge.second < edge.first) std::swap(edge.first, edge.second);
            ++count[edge];
        }
    }
    return count;
}

TEST(Generators, SphereIsClosedAndRound) {
    const Scene scene = make("sphere", 12 * 20 * 20);
    for (const auto& [edge, count] : edges(scene)) ASSERT_EQ(count, 2);
    for (const glm::vec3& p : scene.positions) {
        EXPECT_NEAR(std::sqrt(p.x * p.x + p.y * p.y + p.z * p.z), 1, 0.3);
    }
}

TEST(Generators, TerrainIsAHeightField) {
    const Scene scene = make("terrain", 2 * 50 * 50);
    for (const glm::uvec3& t : scene.triangles) {
        const glm::vec3 a = scene.positions[t.x], b = scene.positions[t.y],
                        c = scene.positions[t.z];
        const float area = (b.x - a.x) * (c.z - a.z) - (b.z - a.z) * (c.x - a.x);
        EXPECT_NEAR(area, 4, 0.01);  // twice half a cell of 2 x 2, all with one sign
    }
    EXPECT_EQ(scene.bounds.hi.x, 50);
    EXPECT_GT(scene.bounds.hi.y - scene.bounds.lo.y, 5);
}

TEST(Generators, CityIsAxisAligned) {
    const Scene scene = make("city", 5000);
    for (const glm::uvec3& t : scene.triangles) {
        const glm::vec3 a = scene.positions[t.x], b = scene.positions[t.y],
                        c = scene.positions[t.z];
        EXPECT_TRUE((a.x == b.x && b.x == c.x) || (a.y == b.y && b.y == c.y) ||
                    (a.z == b.z && b.z == c.z));
    }
    EXPECT_EQ(scene.bounds.lo.y, 0);
}

TEST(Generators, CityOfWholeBoxesIsClosedButForItsGround) {
    int open = 0;
    for (const auto& [edge, count] : edges(make("city", 2 + 12 * 30))) {
        if (count != 2) ++open;
    }
    EXPECT_EQ(open, 4);
}

TEST(Generators, SoupAndSliversShareNoVertex) {
    EXPECT_EQ(make("soup", 1000).positions.size(), 3000u);
    EXPECT_EQ(make("slivers", 1000).positions.size(), 3000u);
}

TEST(Generators, SliversAreThin) {
    const Scene scene = make("slivers", 2000);
    double thinnest = 1;
    for (const glm::uvec3& t : scene.triangles) {
        const auto at = [&](std::uint32_t i) {
            const glm::vec3 p = scene.positions[i];
            return Point{p.x, p.y, p.z};
        };
        const Point ab = at(t.y) - at(t.x), ac = at(t.z) - at(t.x);
        const Point normal = cross(ab, ac);
        const double ratio = std::sqrt(dot(normal, normal)) / dot(ab, ab);  // height / length
        EXPECT_LT(ratio, 0.06);
        thinnest = std::min(thinnest, ratio);
    }
    EXPECT_LT(thinnest, 1e-5);
}

TEST(Generators, HairIsLongAndThin) {
    const Scene scene = make("hair", 2400);  // 100 strands of 24 triangles
    EXPECT_EQ(scene.positions.size(), 2600u);
    for (std::size_t strand = 0; strand != 100; ++strand) {
        for (std::size_t i = 0; i != 13; ++i) {
            const glm::vec3 side =
                scene.positions[26 * strand + 2 * i + 1] - scene.positions[26 * strand + 2 * i];
            EXPECT_LT(std::sqrt(side.x * side.x + side.y * side.y + side.z * side.z), 0.0021f);
        }
    }
}

TEST(Generators, StadiumIsMostlyItsSmallObject) {
    const Scene scene = make("stadium", 8000);
    std::size_t small = 0;
    for (const glm::uvec3& t : scene.triangles) {
        const auto near = [&](std::uint32_t i) {
            const glm::vec3 p = scene.positions[i] - glm::vec3(37, 1.5f, -52);
            return p.x * p.x + p.y * p.y + p.z * p.z < 1.7f;
        };
        if (near(t.x) && near(t.y) && near(t.z)) ++small;
    }
    EXPECT_EQ(small, 7000u);
    EXPECT_EQ(scene.bounds.lo.x, -1000);
    EXPECT_EQ(scene.bounds.hi.x, 1000);
}

TEST(Generators, PlaneIsFlat) {
    const Scene scene = make("plane", 3000);
    for (const glm::vec3& p : scene.positions) EXPECT_EQ(p.y, 0);
}

TEST(Generators, CoincidentTrianglesAreEqual) {
    const Scene scene = make("coincident", 1000);
    for (const glm::uvec3& t : scene.triangles) EXPECT_EQ(t, scene.triangles[0]);
}

TEST(GeneratorName, Reads) {
    const GeneratorRequest request = parse_generator("gen:soup:10000:18446744073709551615");
    EXPECT_EQ(request.generator, "soup");
    EXPECT_EQ(request.triangles, 10000u);
    EXPECT_EQ(request.seed, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(parse_generator("gen:hair:1").seed, 1u);
    EXPECT_EQ(parse_generator("gen:hair:1073741823").triangles, kMaxTriangles);
}

TEST(GeneratorName, RefusesNonsenseAndSaysWhatIsAllowed) {
    const std::pair<std::string, std::string> bad[] = {
        {"gen:", "write gen:NAME:TRIANGLES"},
        {"gen:soup", "write gen:NAME:TRIANGLES"},
        {"gen:soup:1:1:1", "write gen:NAME:TRIANGLES"},
        {"gen::1", "no generator ''; there are sphere, terrain, city, soup"},
        {"gen:nosuch:1", "no generator 'nosuch'; there are sphere, terrain"},
        {"gen:Soup:1", "no generator 'Soup'"},
        {"gen: soup:1", "no generator ' soup'"},
        {"gen:soup:", "'' is no number of triangles"},
        {"gen:soup:x", "'x' is no number of triangles; write 1 to 1073741823"},
        {"gen:soup:-1", "'-1' is no number of triangles"},
        {"gen:soup:+1", "'+1' is no number of triangles"},
        {"gen:soup:1e3", "'1e3' is no number of triangles"},
        {"gen:soup:1.5", "'1.5' is no number of triangles"},
        {"gen:soup: 1", "' 1' is no number of triangles"},
        {"gen:soup:10K", "'10K' is no number of triangles"},
        {"gen:soup:99999999999999999999", "is no number of triangles"},
        {"gen:soup:0", "a scene has 1 to 1073741823 triangles, not 0"},
        {"gen:soup:1073741824", "a scene has 1 to 1073741823 triangles, not 1073741824"},
        {"gen:soup:4294967296", "a scene has 1 to 1073741823 triangles, not 4294967296"},
        {"gen:soup:1:", "'' is no seed"},
        {"gen:soup:1:-1", "'-1' is no seed; write 0 to 18446744073709551615"},
        {"gen:soup:1:18446744073709551616", "is no seed"},
    };
    for (const auto& [name, message] : bad) {
        try {
            (void)load(name);
            ADD_FAILURE() << name << " accepted";
        } catch (const SceneError& error) {
            const std::string what = error.what();
            EXPECT_TRUE(what.starts_with(name + ": ")) << what;
            EXPECT_NE(what.find(message), std::string::npos) << what;
        }
    }
}

}  // namespace
}  // namespace heapwood::scenes
