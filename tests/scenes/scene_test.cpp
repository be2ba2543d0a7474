/// @file
/// finish(), our models, and published scenes where a folder of them is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <glm/common.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "scenes/scene.h"
#include "tests/seed.h"

namespace heapwood::scenes {
namespace {

const std::filesystem::path kScenes = HEAPWOOD_SCENES_SOURCE_DIR;

TEST(Finish, TurnsMinusZeroIntoZero) {
    Scene scene;
    scene.positions = {{-0.0f, 1, -1}, {2, -0.0f, -0.0f}, {0, 5, -1e-45f}};
    scene.triangles = {{0, 1, 2}};
    finish(scene);
    for (const glm::vec3& p : scene.positions) {
        for (int axis = 0; axis != 3; ++axis) EXPECT_FALSE(p[axis] == 0 && std::signbit(p[axis]));
    }
    EXPECT_EQ(scene.positions[2].z, -1e-45f);
    EXPECT_FALSE(std::signbit(scene.bounds.lo.x));
}

TEST(Finish, CountsTrianglesWhoseCornersLieOnOneLine) {
    Scene scene;
    scene.positions = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3.000001f}};
    scene.triangles = {{0, 1, 2}, {0, 1, 3}, {0, 0, 3}, {2, 2, 2}};
    finish(scene);
    EXPECT_EQ(scene.degenerate, 3u);
    finish(scene);
    EXPECT_EQ(scene.degenerate, 3u);
}

/// Whether finish() counts the triangle, for every order of its corners and axes.
bool counted(const std::array<glm::vec3, 3>& corners) {
    std::set<std::uint64_t> counts;
    std::array<int, 3> axes{0, 1, 2};
    do {
        Scene scene;
        for (const glm::vec3& p : corners) {
            scene.positions.push_back({p[axes[0]], p[axes[1]], p[axes[2]]});
        }
        scene.triangles = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}};
        finish(scene);
        counts.insert(scene.degenerate);
    } while (std::next_permutation(axes.begin(), axes.end()));
    EXPECT_EQ(counts.size(), 1u);
    EXPECT_EQ(*counts.begin() % 6, 0u);
    return *counts.begin() == 6;
}

TEST(Finish, JudgesZeroAreaExactlyAtEverySize) {
    constexpr float kLeast = std::numeric_limits<float>::denorm_min();
    constexpr float kMost = std::numeric_limits<float>::max();
    for (const float size : {kLeast, 1e-44f, 1e-38f, 1e-24f, 1e-12f, 1.0f, 1e10f, 1e19f, 1e38f}) {
        SCOPED_TRACE(size);
        EXPECT_FALSE(counted({{{0, 0, 0}, {size, 0, 0}, {0, size, 0}}}));
        EXPECT_FALSE(counted({{{size, size, size}, {-size, size, 0}, {0, -size, size}}}));
        EXPECT_TRUE(counted({{{0, 0, 0}, {size, 2 * size, -size}, {-size, -2 * size, size}}}));
        EXPECT_TRUE(
            counted({{{size, 0, -size}, {2 * size, 0, -2 * size}, {3 * size, 0, -3 * size}}}));
        EXPECT_TRUE(counted({{{size, size, size}, {size, size, size}, {0, 1, 2}}}));
    }
    // Largest beside smallest numbers, where differences are rounded, also in double precision.
    EXPECT_FALSE(counted({{{0, 0, 0}, {kMost, 0, 0}, {0, kLeast, 0}}}));
    EXPECT_FALSE(counted({{{-kMost, 0, 0}, {kMost, 0, 0}, {0, kLeast, 0}}}));
    EXPECT_FALSE(counted({{{-kMost, -kMost, 0}, {kMost, kMost, 0}, {0, kLeast, 0}}}));
    EXPECT_TRUE(counted({{{-kMost, -kMost, 0}, {kMost, kMost, 0}, {kLeast, kLeast, 0}}}));
    EXPECT_FALSE(counted({{{1e-20f, 0, 0}, {1, 1, 0}, {2, 2, 0}}}));
    // Off a line by one unit in the last place, far from the origin.
    EXPECT_FALSE(counted({{{4097, 4097, 1}, {8193, 8193, 1}, {12289, 12289.001f, 1}}}));
    EXPECT_TRUE(counted({{{4097, 4097, 1}, {8193, 8193, 1}, {12289, 12289, 1}}}));
}

TEST(Finish, BoundsLeaveOutWhatNoTriangleUses) {
    Scene scene;
    scene.positions = {{100, 100, 100}, {1, -2, 3}, {4, 5, -6}, {0, 0, 0}};
    scene.triangles = {{1, 2, 3}};
    finish(scene);
    EXPECT_EQ(scene.bounds.lo, glm::vec3(0, -2, -6));
    EXPECT_EQ(scene.bounds.hi, glm::vec3(4, 5, 3));
}

TEST(Finish, IsTheSameOfManyTrianglesOnAnyThreads) {
    const std::uint64_t seed = tests::test_seed();
    std::mt19937_64 random(seed);
    const auto coordinate = [&] { return static_cast<float>(random() % 2001) - 1000; };
    Scene scene;
    glm::vec3 lo(3000), hi(-3000);
    std::uint64_t lines = 0;
    for (std::uint32_t t = 0; t < 100'000; ++t) {
        const glm::vec3 a{coordinate(), coordinate(), coordinate()};
        const glm::vec3 b{coordinate(), coordinate(), coordinate()};
        // Across from b, or above it: then they are on a line only if a is below or above, too.
        const bool across = random() % 100 == 0;
        const glm::vec3 c = across ? a + a - b : b + glm::vec3{0, 1, 0};
        if (across || (a.x == b.x && a.z == b.z)) ++lines;
        for (const glm::vec3& p : {a, b, c}) {
            scene.positions.push_back(p);
            lo = min(lo, p);
            hi = max(hi, p);
        }
        scene.triangles.emplace_back(3 * t, 3 * t + 1, 3 * t + 2);
    }
    for (const unsigned threads : {1U, 2U, 7U}) {
        finish(scene, threads);
        EXPECT_EQ(scene.degenerate, lines) << threads << " threads";
        EXPECT_EQ(scene.bounds.lo, lo);
        EXPECT_EQ(scene.bounds.hi, hi);
    }
}

TEST(Finish, BoundsOfNothingAreEmpty) {
    Scene scene;
    finish(scene);
    EXPECT_GT(scene.bounds.lo.x, scene.bounds.hi.x);
}

struct Counts {
    std::uint64_t triangles, vertices, zero_area;
};

void expect_counts(const Scene& scene, const Counts& expected) {
    EXPECT_EQ(scene.triangles.size(), expected.triangles);
    EXPECT_EQ(scene.positions.size(), expected.vertices);
    EXPECT_EQ(scene.degenerate, expected.zero_area);
}

TEST(Models, Load) {
    const std::map<std::string, Counts> models = {
        {"cottage.obj", {300, 240, 0}},         {"gem.obj", {62, 33, 0}},
        {"geodesic_sphere.obj", {320, 162, 0}}, {"spiral_staircase.obj", {268, 214, 2}},
        {"stepped_pyramid.obj", {124, 96, 0}},  {"trefoil.obj", {1280, 640, 0}},
    };
    std::set<std::string> seen;
    for (const auto& entry : std::filesystem::directory_iterator(kScenes / "models")) {
        const std::string name = entry.path().filename().string();
        SCOPED_TRACE(name);
        ASSERT_TRUE(models.contains(name));
        expect_counts(load(entry.path().string()), models.at(name));
        std::ifstream file(entry.path());
        EXPECT_EQ(file.get(), '#') << "begins with no comment on what it is";
        seen.insert(name);
    }
    EXPECT_EQ(seen.size(), models.size());
}

TEST(Models, ClosedOnesAreClosedAndTurnOutwards) {
    for (const std::string name : {"gem", "geodesic_sphere", "trefoil"}) {
        SCOPED_TRACE(name);
        const Scene scene = load((kScenes / "models" / (name + ".obj")).string());
        std::map<std::pair<std::uint32_t, std::uint32_t>, int> directed;
        double volume = 0;
        for (const glm::uvec3& t : scene.triangles) {
            for (int i = 0; i != 3; ++i) ++directed[{t[i], t[(i + 1) % 3]}];
            const glm::vec3 a = scene.positions[t.x], b = scene.positions[t.y],
                            c = scene.positions[t.z];
            volume += a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) +
                      a.z * (b.x * c.y - b.y * c.x);
        }
        EXPECT_GT(volume, 0);
        for (const auto& [edge, count] : directed) {
            ASSERT_EQ(count, 1);
            const std::pair back{edge.second, edge.first};
            ASSERT_TRUE(directed.contains(back));
        }
    }
}

/// The counts of scenes/catalogue.json by scene name.
std::map<std::string, Counts> catalogue() {
    std::ifstream file(kScenes / "catalogue.json");
    std::map<std::string, Counts> counts;
    const auto json = nlohmann::json::parse(file);
    for (const auto& scene : json.at("scenes")) {
        counts[scene.at("name")] = {scene.at("triangles"), scene.at("vertices"),
                                    scene.at("zero_area")};
    }
    return counts;
}

TEST(PublishedScenes, HaveTheCountsOfTheCatalogue) {
    const char* folder = std::getenv("HEAPWOOD_SCENES");
    if (folder == nullptr) GTEST_SKIP() << "HEAPWOOD_SCENES names no folder of scenes";
    const std::map<std::string, Counts> known = catalogue();
    ASSERT_EQ(known.at("conference").zero_area, 53627u);
    int loaded = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".obj") && !name.ends_with(".obj.xz") && !name.ends_with(".obj.gz")) {
            continue;
        }
        SCOPED_TRACE(name);
        const Scene scene = load(entry.path().string());
        const auto counts = known.find(name.substr(0, name.find('.')));
        if (counts != known.end()) expect_counts(scene, counts->second);
        ++loaded;
    }
    EXPECT_GT(loaded, 0) << folder << " holds no .obj, .obj.xz or .obj.gz";
}

}  // namespace
}  // namespace heapwood::scenes
