/// @file
/// Finished trees for Python: what they are made of, and files.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "allocators/platform/device.h"
#include "app/base/text.h"
#include "app/python/objects.h"
#include "kdtree/tree/quality.h"
#include "kdtree/tree/tree_file.h"
#include "kdtree/tree/verify.h"

namespace nb = nanobind;

namespace heapwood::python {

using allocators::Place;
using kdtree::Quality;

TreeObject::TreeObject(std::shared_ptr<const TreeData> data)
    : data_(std::move(data)),
      place_(data_->in_place()->rays().place()),
      device_(data_->device()),
      in_place_(true) {}

TreeObject* TreeObject::to(Place place) const {
    // On another GPU than the current one it would be of no use.
    if (in_place_ && place == place_ &&
        (place == Place::host || platform::current_device() == device_)) {
        return new TreeObject(data_);
    }
    return new TreeObject(data_, place);
}

const kdtree::RayTree& TreeObject::rays() const {
    if (in_place_) return data_->in_place()->rays();
    const std::lock_guard lock(mutex_);
    if (!rays_) {
        rays_.emplace(data_->tree(), *data_->scene().scene, place_);
        device_ = place_ == Place::device ? platform::current_device() : 0;
    }
    return *rays_;
}

const kdtree::SignTable& TreeObject::signs() const {
    const std::lock_guard lock(mutex_);
    if (!signs_) signs_.emplace(*data_->scene().scene, place_);
    return *signs_;
}

namespace {

class HostTree final : public TreeData {
public:
    HostTree(SceneObject scene, kdtree::Tree tree, kdtree::BuildConfig config, std::string report)
        : TreeData(std::move(config)),
          scene_(std::move(scene)),
          tree_(std::move(tree)),
          report_(std::move(report)) {}

    const SceneObject& scene() const override { return scene_; }
    const kdtree::Tree& tree() const override { return tree_; }
    const std::string& report() const override { return report_; }

private:
    const SceneObject scene_;
    const kdtree::Tree tree_;
    const std::string report_;
};

}  // namespace

std::shared_ptr<const TreeData> tree_data(SceneObject scene, kdtree::Tree tree,
                                          kdtree::BuildConfig config, std::string report) {
    return std::make_shared<const HostTree>(std::move(scene), std::move(tree), std::move(config),
                                            std::move(report));
}

Place place_named(const std::string& device) {
    if (device == "cpu") return Place::host;
    if (device == "cuda") return Place::device;
    throw std::invalid_argument("device '" + device + "' is neither cpu nor cuda");
}

const char* name(Place place) {
    return place == Place::host ? "cpu" : "cuda";
}

namespace {

/// @param scene the path of the scene, if not that of the file
TreeObject* load(const std::string& path, const std::string& device,
                 const std::optional<std::string>& scene, const std::string& report) {
    const Place place = place_named(device);
    const nb::gil_scoped_release release;
    kdtree::StoredTree stored = kdtree::load_tree(path);
    if (scene) stored.scene.path = *scene;
    return new TreeObject(
        tree_data({std::make_shared<const scenes::Scene>(std::move(stored.scene))},
                  std::move(stored.tree), stored.config, report),
        place);
}

/// The bytes of its file.
nb::bytes file_bytes(const TreeObject& self) {
    const TreeData& data = *self.data();
    allocators::Buffer bytes;
    {
        const nb::gil_scoped_release release;
        bytes = kdtree::tree_file(data.tree(), *data.scene().scene, data.config());
    }
    return nb::bytes(bytes.data(), bytes.size());
}

void save(const TreeObject& self, const std::string& path) {
    const nb::gil_scoped_release release;
    const TreeData& data = *self.data();
    const scenes::Scene& scene = *data.scene().scene;
    check_output(scene.path, "the tree's file", path);
    kdtree::save_tree(path, data.tree(), scene, data.config());
}

std::optional<std::string> verify(const TreeObject& self) {
    const nb::gil_scoped_release release;
    const TreeData& data = *self.data();
    const scenes::Scene& scene = *data.scene().scene;
    return kdtree::verify(scene, data.tree(),
                          kdtree::max_depth(data.config(), scene.triangles.size()));
}

Quality quality(const TreeObject& self) {
    const nb::gil_scoped_release release;
    return kdtree::quality(self.data()->tree(), self.data()->scene().scene->triangles.size());
}

const kdtree::Tree& tree_of(nb::handle self) {
    const TreeData& data = *nb::cast<const TreeObject&>(self).data();
    const nb::gil_scoped_release release;
    return data.tree();
}

SceneObject scene(const TreeObject& self) {
    const nb::gil_scoped_release release;
    return self.data()->scene();
}

std::string report(const TreeObject& self) {
    const nb::gil_scoped_release release;
    return self.data()->report();
}

std::string digest(const TreeObject& self) {
    const nb::gil_scoped_release release;
    return app::hex(kdtree::digest(self.data()->tree()));
}

/// Rows of three numbers where a tree was built, which keep the tree.
template <class T>
nb::object rows_there(nb::handle self, const TreeData& tree, const void* data, std::size_t rows) {
    const auto* numbers = static_cast<const T*>(data);
    if (tree.in_place()->rays().place() == Place::host)
        return nb::cast(nb::ndarray<nb::numpy, const T>(numbers, {rows, 3}, self));
    // Libraries differ in what they make of arrays that may not be written.
    return nb::cast(nb::ndarray<T>(const_cast<T*>(numbers), {rows, 3}, self, {}, nb::dtype<T>(),
                                   nb::device::cuda::value, tree.device()));
}

/// Vertices and triangles of a tree where it was built, the numbers of vertices with a sign, and
/// whether that is on the host. None of a tree that was not built in place, or has too many
/// vertices for that.
std::optional<std::tuple<nb::object, nb::object, bool>> mesh_there(nb::handle self) {
    const TreeData& tree = *nb::cast<const TreeObject&>(self).data();
    const kdtree::Frame mesh = tree.triangles();
    if (tree.in_place() == nullptr || mesh.position_count >> 31 != 0) return std::nullopt;
    return std::tuple(rows_there<float>(self, tree, mesh.positions, mesh.position_count),
                      rows_there<std::int32_t>(self, tree, mesh.triangles, mesh.triangle_count),
                      tree.in_place()->rays().place() == Place::host);
}

/// Milliseconds of a build in place: of the build, of making its arrays, and its pool. None: the
/// report has them.
std::optional<std::tuple<double, double, double>> times(const TreeObject& self) {
    const kdtree::FinishedTree* made = self.data()->in_place();
    if (made == nullptr) return std::nullopt;
    const kdtree::BuildResult& result = made->result();
    return std::tuple(result.build_ms, result.upload_ms, result.pool_ms);
}

void add_quality(nb::module_& m) {
    nb::class_<Quality>(m, "Quality", "How good a tree is: its size, and its expected cost a ray.")
        .def_ro("nodes", &Quality::nodes, "Inner nodes and leaves.")
        .def_ro("leaves", &Quality::leaves, "Leaves, empty ones included.")
        .def_ro("empty_leaves", &Quality::empty_leaves, "Leaves without references.")
        .def_ro("references", &Quality::references, "References from all leaves.")
        .def_ro("references_per_triangle", &Quality::references_per_triangle, "N_ref.")
        .def_ro("max_depth", &Quality::max_depth, "Of a leaf; a root that is a leaf: 0.")
        .def_ro("largest_leaf", &Quality::largest_leaf, "Most references of a leaf.")
        .def_ro("I", &Quality::I, "Inner nodes that a random line through the box meets.")
        .def_ro("L", &Quality::L, "Leaves that it meets.")
        .def_ro("P", &Quality::P, "Triangle tests that it takes if it hits nothing.")
        .def("sah", &Quality::sah, nb::arg("traversal_cost") = 1.0,
             nb::arg("intersection_cost") = 1.5,
             "Expected cost of a ray that hits nothing: traversal_cost I + intersection_cost P.")
        .def("__repr__", [](const Quality& q) {
            return "Quality(nodes=" + std::to_string(q.nodes) +
                   ", leaves=" + std::to_string(q.leaves) +
                   ", references=" + std::to_string(q.references) +
                   ", max_depth=" + std::to_string(q.max_depth) +
                   ", sah=" + app::fixed(q.sah(1, 1.5), 2) + ")";
        });
}

}  // namespace

void add_trees(nb::module_& m) {
    add_quality(m);
    nb::class_<RaySource>(m, "RaySource");
    nb::class_<TreeObject, RaySource>(m, "Tree")
        .def_static("load", &load, nb::arg("path"), nb::arg("device"),
                    nb::arg("scene") = nb::none(), nb::arg("report") = "")
        .def("file_bytes", &file_bytes)
        .def("save", &save, nb::arg("path"))
        .def("verify", &verify)
        .def(
            "to",
            [](const TreeObject& self, const std::string& device) {
                return self.to(place_named(device));
            },
            nb::arg("device"))
        .def_prop_ro("device", [](const TreeObject& self) { return name(self.place()); })
        .def_prop_ro("scene", &scene)
        .def_prop_ro("report", &report)
        .def_prop_ro("times", &times)
        .def_prop_ro("mesh_there", [](nb::handle_t<TreeObject> self) { return mesh_there(self); })
        .def_prop_ro("digest", &digest)
        .def_prop_ro("quality", &quality)
        .def_prop_ro(
            "nodes",
            [](nb::handle_t<TreeObject> self) {
                const auto& nodes = tree_of(self).nodes;
                return nb::ndarray<nb::numpy, const std::uint32_t>(
                    reinterpret_cast<const std::uint32_t*>(nodes.data()), {nodes.size(), 2}, self);
            },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "references",
            [](nb::handle_t<TreeObject> self) {
                const auto& references = tree_of(self).references;
                return nb::ndarray<nb::numpy, const std::uint32_t>(references.data(),
                                                                   {references.size()}, self);
            },
            nb::rv_policy::automatic);
}

}  // namespace heapwood::python
