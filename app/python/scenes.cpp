/// @file
/// Scenes for Python: from arrays, files and generators.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "app/base/output.h"
#include "app/base/text.h"
#include "app/python/objects.h"
#include "app/verbs/files.h"
#include "scenes/digest.h"
#include "scenes/limits.h"
#include "scenes/warnings.h"

namespace nb = nanobind;

namespace heapwood::python {

namespace {

using Positions = nb::ndarray<const float, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Triangles = nb::ndarray<const std::int64_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

/// @throws std::invalid_argument for a number that is no vertex's.
std::uint32_t checked_index(std::int64_t index, std::size_t triangle, std::size_t vertices) {
    if (index < 0 || static_cast<std::uint64_t>(index) >= vertices) {
        throw std::invalid_argument("triangle " + std::to_string(triangle) + " refers to vertex " +
                                    std::to_string(index) + ", but there are " +
                                    std::to_string(vertices) + " vertices, counted from 0");
    }
    return static_cast<std::uint32_t>(index);
}

SceneObject from_arrays(const Positions& positions, const Triangles& triangles,
                        const std::string& path) {
    const nb::gil_scoped_release release;
    if (triangles.shape(0) == 0 || triangles.shape(0) > scenes::kMaxTriangles) {
        throw std::invalid_argument("a scene must have between 1 and 2^30 - 1 triangles, not " +
                                    std::to_string(triangles.shape(0)));
    }
    if (positions.shape(0) > std::numeric_limits<std::uint32_t>::max()) {
        throw std::invalid_argument("a scene must have fewer than 2^32 vertices, not " +
                                    std::to_string(positions.shape(0)));
    }
    std::vector<glm::uvec3> corners(triangles.shape(0));
    for (std::size_t i = 0; i < triangles.size(); ++i) {
        corners[i / 3][static_cast<int>(i % 3)] =
            checked_index(triangles.data()[i], i / 3, positions.shape(0));
    }
    std::vector<glm::vec3> copy;
    copy.reserve(positions.shape(0));
    const float* from = positions.data();
    for (std::size_t i = 0; i < positions.shape(0); ++i, from += 3) {
        copy.emplace_back(from[0], from[1], from[2]);
    }
    return scene_of_arrays(std::move(copy), std::move(corners), path);
}

SceneObject load(const std::string& name) {
    const nb::gil_scoped_release release;
    return {std::make_shared<const scenes::Scene>(scenes::load(name))};
}

nb::ndarray<nb::numpy, const float> bounds(const SceneObject& self) {
    const scenes::Bounds& box = self.scene->bounds;
    auto* corners = new float[6]{box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z};
    const nb::capsule owner(corners, [](void* p) noexcept { delete[] static_cast<float*>(p); });
    return {corners, {2, 3}, owner};
}

/// A view of vectors that keeps their scene.
template <class T>
nb::ndarray<nb::numpy, const T> view(nb::handle self, const T* data, std::size_t rows) {
    return {data, {rows, 3}, self};
}

}  // namespace

SceneObject scene_of_arrays(std::vector<glm::vec3> positions, std::vector<glm::uvec3> triangles,
                            const std::string& path) {
    scenes::Scene scene;
    scene.path = path;
    scene.positions = std::move(positions);
    scene.triangles = std::move(triangles);
    std::vector<bool> used;  // by triangles; only if it matters
    for (std::size_t i = 0; i < scene.positions.size(); ++i) {
        glm::vec3& at = scene.positions[i];
        int wrong = 0;
        while (wrong < 3 && std::isfinite(at[wrong])) ++wrong;
        if (wrong == 3) continue;
        if (used.empty()) used = scenes::used_positions(scene.triangles, scene.positions.size());
        if (used[i]) {
            throw std::invalid_argument("vertex " + std::to_string(i) + " has the coordinate " +
                                        std::to_string(at[wrong]) +
                                        ", but all must be finite in single precision");
        }
        at = {};
    }
    scenes::finish(scene);
    return {std::make_shared<const scenes::Scene>(std::move(scene))};
}

void check_output(const std::string& scene, const std::string& what, const std::string& path) {
    if (scene != kArrays) app::check_files(app::files_of_scene(scene), {{what, path}});
}

void add_scenes(nb::module_& m) {
    nb::class_<SceneObject>(m, "Scene")
        .def_static("load", &load, nb::arg("name"))
        .def_static("from_arrays", &from_arrays, nb::arg("vertices").noconvert(),
                    nb::arg("triangles").noconvert(), nb::arg("path"))
        .def(
            "check_output",
            [](const SceneObject& self, const std::string& path) {
                check_output(self.scene->path, "the new scene's file", path);
            },
            nb::arg("path"))
        .def_prop_ro("path", [](const SceneObject& self) { return self.scene->path; })
        .def_prop_ro("degenerate", [](const SceneObject& self) { return self.scene->degenerate; })
        .def_prop_ro("overlapping", [](const SceneObject& self) { return self.scene->overlapping; })
        .def_prop_ro(
            "precision_loss",
            [](const SceneObject& self) { return scenes::precision_loss(self.scene->bounds); })
        .def_prop_ro("warnings",
                     [](const SceneObject& self) { return scenes::warnings(*self.scene); })
        .def_prop_ro("digest",
                     [](const SceneObject& self) { return app::hex(scenes::digest(*self.scene)); })
        .def_prop_ro("bounds", &bounds, nb::rv_policy::automatic)
        .def_prop_ro(
            "vertices",
            [](nb::handle_t<SceneObject> self) {
                const auto& all = nb::cast<const SceneObject&>(self).scene->positions;
                return view(self, reinterpret_cast<const float*>(all.data()), all.size());
            },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "triangles",
            [](nb::handle_t<SceneObject> self) {
                const auto& all = nb::cast<const SceneObject&>(self).scene->triangles;
                return view(self, reinterpret_cast<const std::uint32_t*>(all.data()), all.size());
            },
            nb::rv_policy::automatic);
}

}  // namespace heapwood::python
