/// @file
/// Random scenes, written in random spellings of the OBJ format, are read back as they were.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "scenes/obj/polygon.h"
#include "scenes/scene.h"
#include "tests/scenes/temp_folder.h"

namespace heapwood::scenes {
namespace {

using Polygon = std::vector<std::uint32_t>;

/// A finite float of any magnitude, from its bits.
rc::Gen<float> any_float() {
    return rc::gen::map(rc::gen::arbitrary<std::uint32_t>(), [](std::uint32_t bits) {
        const float value = std::bit_cast<float>(bits);
        return std::isfinite(value) ? value : static_cast<float>(bits);
    });
}

std::string blanks() {
    return *rc::gen::element<std::string>(" ", " ", " ", "  ", "\t", " \t ", " \\\n", "\\\r\n ");
}

std::string line_end() {
    return *rc::gen::element<std::string>("\n", "\n", "\r\n", " # x\n", "\t\n");
}

std::string number(float value) {
    char text[64];
    // Nine digits tell any two floats apart.
    const char* const format = *rc::gen::element<const char*>("%.9g", "%.8e", "%+.12g", "%.17G");
    std::snprintf(text, sizeof text, format, static_cast<double>(value));
    return text;
}

std::string index(std::uint32_t vertex, std::size_t vertices_so_far) {
    const bool relative = vertex < vertices_so_far && *rc::gen::arbitrary<bool>();
    const std::string text = relative ? std::to_string(static_cast<std::int64_t>(vertex) -
                                                       static_cast<std::int64_t>(vertices_so_far))
                                      : std::to_string(vertex + 1);
    return text + *rc::gen::element<std::string>("", "", "/1", "//1", "/1/1", "/-1/-1", "//");
}

std::string other_statement() {
    return *rc::gen::element<std::string>("", "# v 1 2\n", "vn 0 0 1\n", "vt 0 0\n", "g\n", "s 1\n",
                                          "usemtl none\r\n", "o a b\n", "\r\n", "\t \n", "l 1 2\n");
}

RC_GTEST_PROP(ObjProperty, AnySpellingIsReadBack, ()) {
    const auto vertices = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::array<float, 3>>>(
        rc::gen::container<std::array<float, 3>>(any_float())));
    const auto corner =
        rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(vertices.size()));
    const auto polygons = *rc::gen::nonEmpty(rc::gen::container<std::vector<Polygon>>(
        rc::gen::mapcat(rc::gen::inRange<std::size_t>(3, 8), [=](std::size_t count) {
            return rc::gen::container<Polygon>(count, corner);
        })));

    std::string text;
    std::size_t written = 0, next_polygon = 0;
    while (written != vertices.size() || next_polygon != polygons.size()) {
        text += other_statement();
        const bool vertex_next = written != vertices.size() &&
                                 (next_polygon == polygons.size() ||
                                  *rc::gen::weightedElement<bool>({{5, true}, {1, false}}));
        if (vertex_next) {
            text += "v";
            for (const float x : vertices[written]) text += blanks() + number(x);
            text += *rc::gen::element<std::string>("", "", " 1", " 0.5 0.5 1", " 1 1 1 1");
            ++written;
        } else {
            text += *rc::gen::element<std::string>("f", "f", "fo");
            for (const std::uint32_t vertex : polygons[next_polygon]) {
                text += blanks() + index(vertex, written);
            }
            ++next_polygon;
        }
        text += line_end();
    }
    if (*rc::gen::arbitrary<bool>()) text.pop_back();

    const TempFolder folder;
    const Scene scene = load(folder.write("random.obj", text));
    RC_ASSERT(scene.positions.size() == vertices.size());
    for (std::size_t i = 0; i != vertices.size(); ++i) {
        for (int axis = 0; axis != 3; ++axis) {
            const float expected = vertices[i][static_cast<std::size_t>(axis)];
            RC_ASSERT(scene.positions[i][axis] == expected);
        }
    }
    std::size_t at = 0;
    for (const Polygon& polygon : polygons) {
        const std::size_t n = polygon.size();
        std::vector<glm::vec3> corners;
        for (const std::uint32_t one : polygon) corners.push_back(scene.positions[one]);
        const std::size_t from = fan_corner(corners).value_or(0);
        for (std::size_t i = 2; i != n; ++i) {
            RC_ASSERT(at < scene.triangles.size());
            RC_ASSERT(scene.triangles[at] == glm::uvec3(polygon[from], polygon[(from + i - 1) % n],
                                                        polygon[(from + i) % n]));
            ++at;
        }
    }
    RC_ASSERT(at == scene.triangles.size());
}

RC_GTEST_PROP(ObjProperty, AnyBytesAreReadOrRefusedWithTheirPlace, ()) {
    // Bytes that the format is made of come up more often than others, so that much is nearly good.
    const auto piece = rc::gen::oneOf(
        rc::gen::elementOf(std::vector<std::string>{
            "v ", "f ", "fo ",          "1 ",        "2 ",        "-1 ",       "0 ",        "1/1 ",
            "/",  "\\", "\n",           "\r",        "#",         "nan ",      "1e",        "e5 ",
            ".",  "-",  "99999999999 ", "v 0 0 0\n", "v 1 0 0\n", "v 0 1 0\n", "f 1 2 3\n", "\t"}),
        rc::gen::map(rc::gen::arbitrary<char>(), [](char c) { return std::string(1, c); }));
    const auto pieces = *rc::gen::container<std::vector<std::string>>(piece);
    std::string text;
    for (const std::string& one : pieces) text += one;
    const TempFolder folder;
    const std::string path = folder.write("bytes.obj", text);
    try {
        const Scene scene = load(path);
        RC_ASSERT(!scene.triangles.empty());
        for (const glm::uvec3& t : scene.triangles) {
            for (int i = 0; i != 3; ++i) RC_ASSERT(t[i] < scene.positions.size());
        }
        for (const glm::vec3& p : scene.positions) {
            RC_ASSERT(std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z));
        }
    } catch (const SceneError& error) {
        RC_ASSERT(std::string(error.what()).starts_with(path + ":"));
    }
}

}  // namespace
}  // namespace heapwood::scenes
