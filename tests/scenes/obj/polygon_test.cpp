/// @file
/// How polygons are cut: areas and directions of their triangles, at every size and place.
#include "scenes/obj/polygon.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <glm/geometric.hpp>
#include <string>
#include <vector>

#include "scenes/pieces.h"
#include "scenes/random.h"
#include "scenes/scene.h"
#include "scenes/warnings.h"
#include "tests/scenes/temp_folder.h"

namespace heapwood::scenes {
namespace {

using Polygon = std::vector<glm::vec3>;

const Polygon kSquare{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
const Polygon kDart{{0, 0, 0}, {4, 0, 0}, {1, 1, 0}, {0, 4, 0}};
const Polygon kL{{2, 0, 0}, {2, 1, 0}, {1, 1, 0}, {1, 2, 0}, {0, 2, 0}, {0, 0, 0}};
const Polygon kU{{0, 0, 0}, {3, 0, 0}, {3, 3, 0}, {2, 3, 0},
                 {2, 1, 0}, {1, 1, 0}, {1, 3, 0}, {0, 3, 0}};

Polygon turned(Polygon polygon, std::size_t corners) {
    std::rotate(polygon.begin(), polygon.begin() + static_cast<std::ptrdiff_t>(corners),
                polygon.end());
    return polygon;
}

Polygon scaled(Polygon polygon, float factor) {
    for (glm::vec3& p : polygon) p = p * factor;
    return polygon;
}

/// The area of the polygon's own outline, and those of a fan's triangles with their signs.
struct Areas {
    double whole = 0;
    std::vector<double> triangles;

    Areas(const Polygon& polygon, std::size_t from) {
        const std::size_t n = polygon.size();
        const auto at = [&](std::size_t i) { return glm::dvec3(polygon[i % n]); };
        glm::dvec3 normal(0);
        for (std::size_t i = 0; i < n; ++i) normal += cross(at(i) - at(0), at(i + 1) - at(0));
        whole = length(normal) / 2;
        for (std::size_t i = 1; i + 1 < n; ++i) {
            const auto edges = cross(at(from + i) - at(from), at(from + i + 1) - at(from));
            triangles.push_back(dot(edges, normal) / length(normal) / 2);
        }
    }
};

void expect_covered(const Polygon& polygon) {
    const auto from = fan_corner(polygon);
    ASSERT_TRUE(from);
    const Areas areas(polygon, *from);
    double sum = 0;
    for (const double area : areas.triangles) {
        EXPECT_GE(area, -1e-4 * areas.whole);
        sum += area;
    }
    EXPECT_NEAR(sum, areas.whole, 1e-6 * areas.whole);
}

TEST(FanCorner, IsTheFirstOneOfConvexPolygons) {
    for (std::size_t n = 3; n < 40; ++n) {
        Polygon polygon;
        for (std::size_t i = 0; i < n; ++i) {
            const double angle =
                6.283185307179586 * static_cast<double>(i) / static_cast<double>(n);
            polygon.emplace_back(3 * std::cos(angle), std::sin(angle), 5 + std::cos(angle));
        }
        EXPECT_EQ(fan_corner(polygon), 0u) << n;
        std::ranges::reverse(polygon);
        EXPECT_EQ(fan_corner(polygon), 0u) << n;
    }
    EXPECT_EQ(fan_corner(kSquare), 0u);
    EXPECT_EQ(fan_corner(Polygon{{0, 0, 0}, {1, 0, 0}, {1, 1, 0.5F}, {0, 1, 0}}), 0u)
        << "not plane";
    EXPECT_EQ(fan_corner(Polygon{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {2, 1, 0}, {0, 1, 0}}), 0u);
    EXPECT_EQ(fan_corner(Polygon{{0, 0, 0}, {0, 0, 0}, {1, 0, 0}, {1, 1, 0}}), 0u);
    EXPECT_EQ(fan_corner(Polygon(7, {1, 2, 3})), 0u) << "a point";
}

TEST(FanCorner, CoversConcavePolygons) {
    for (const Polygon& polygon : {kDart, kL}) {
        for (std::size_t first = 0; first < polygon.size(); ++first) {
            for (const float factor : {1e-44F, 1e-30F, 1.0F, 1e19F, 5e37F}) {
                const Polygon one = scaled(turned(polygon, first), factor);
                if (factor < 1e-40F) {
                    EXPECT_TRUE(fan_corner(one));
                } else {
                    expect_covered(one);
                }
            }
        }
    }
}

TEST(FanCorner, AlwaysExistsForSimpleQuadsAndPentagons) {
    Random random(11);
    for (int trial = 0; trial < 2000; ++trial) {
        const std::size_t n = trial % 2 == 0 ? 4 : 5;
        // Around a point, so the outline does not cross itself; in a plane of any direction.
        const glm::dvec3 u(random.unit() - 0.5, random.unit() - 0.5, random.unit() - 0.5);
        const glm::dvec3 v(random.unit() - 0.5, random.unit() - 0.5, random.unit() - 0.5);
        if (length(cross(u, v)) < 0.01) continue;
        Polygon polygon;
        for (std::size_t i = 0; i < n; ++i) {
            const double angle = 6.283185307179586 *
                                 (static_cast<double>(i) + 0.8 * random.unit()) /
                                 static_cast<double>(n);
            const double radius = 0.05 + random.unit();
            polygon.emplace_back((u * std::cos(angle) + v * std::sin(angle)) * radius);
        }
        expect_covered(polygon);
    }
}

TEST(FanCorner, IsMissingWhereEveryFanLiesOutside) {
    const Polygon bow_tie{{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}};
    for (std::size_t first = 0; first < 8; ++first) {
        EXPECT_FALSE(fan_corner(turned(kU, first)));
        EXPECT_FALSE(fan_corner(turned(bow_tie, first % 4)));
    }
    Polygon comb{{0, 0, 0}, {1001, 0, 0}};
    for (int i = 500; i > 0; --i) {
        comb.emplace_back(2 * i, 9, 0);
        comb.emplace_back(2 * i - 1, 1, 0);
    }
    EXPECT_FALSE(fan_corner(comb));
}

std::string statements(const Polygon& polygon) {
    std::string text;
    for (const glm::vec3& p : polygon) {
        text += "v " + std::to_string(p.x) + " " + std::to_string(p.y) + " 0\n";
    }
    return text;
}

std::string face(std::size_t corners) {
    std::string text = "f";
    for (std::size_t i = 1; i <= corners; ++i) text += " " + std::to_string(i);
    return text + "\n";
}

double area(const Scene& scene) {
    double sum = 0;
    for (const glm::uvec3& t : scene.triangles) {
        const glm::dvec3 a(scene.positions[t.x]);
        sum += length(cross(glm::dvec3(scene.positions[t.y]) - a,
                            glm::dvec3(scene.positions[t.z]) - a)) /
               2;
    }
    return sum;
}

TEST(ObjPolygons, AreCutWhereAFanFits) {
    const TempFolder folder;
    for (std::size_t first = 0; first < 6; ++first) {
        const std::string vertices = statements(turned(kL, first));
        const Scene late = load(folder.write("a.obj", vertices + face(6)));
        const Scene early = load(folder.write("b.obj", face(6) + vertices));
        EXPECT_DOUBLE_EQ(area(late), 3);
        EXPECT_EQ(late.overlapping, 0u);
        EXPECT_EQ(early.triangles, late.triangles) << "a face may stand before its vertices";
    }
    const Scene dart = load(folder.write("c.obj", statements(turned(kDart, 1)) + face(4)));
    EXPECT_DOUBLE_EQ(area(dart), 4);
}

TEST(ObjPolygons, AreCountedWhereNoFanFits) {
    const TempFolder folder;
    const std::string u = folder.write("u.obj", statements(kU) + face(8));
    const std::string early = folder.write("early.obj", face(8) + statements(kU) + face(8));
    EXPECT_EQ(load(u).overlapping, 1u);
    EXPECT_EQ(load(early).overlapping, 2u);
    EXPECT_EQ(warnings(load(u)),
              std::vector<std::string>{u + ": 1 polygon is concave and not covered by a fan of "
                                           "triangles from any corner, so that triangles overlap; "
                                           "triangulate the scene before it is saved"});
    const std::string list = folder.write("a.list", "u.obj\nearly.obj\ngen:soup:10\nu.obj\n");
    EXPECT_EQ(load(list).overlapping, 4u);
    for (const std::uint32_t shares : {1u, 3u, 5u}) {
        SceneFacts all;
        for (std::uint32_t i = 0; i < shares; ++i) all.append(load_share(list, i, shares).facts);
        EXPECT_EQ(all.overlapping, 4u) << shares << " shares";
    }
}

}  // namespace
}  // namespace heapwood::scenes
