/// @file
/// One worker's part of a divided tree, for Python. Rays are rows of 64 bytes, kdtree::PassingRay.
#include "kdtree/distributed/ray_parts.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <vector>

#include "app/python/objects.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

using kdtree::PassingRay;
using kdtree::RayPart;

using RayRows =
    nb::ndarray<std::uint8_t, nb::shape<-1, sizeof(PassingRay)>, nb::c_contig, nb::device::cpu>;
using Parts = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void make_part(RayPart* self, const TreeObject& tree, std::uint32_t parts, std::uint32_t part) {
    const nb::gil_scoped_release release;
    new (self) RayPart(tree.data()->tree(), *tree.data()->scene().scene, parts, part);
}

/// Changes rays where they lie, and writes which part each goes on to.
void go_on(const RayPart& self, const RayRows& rows, const Parts& next, bool any,
           unsigned threads) {
    if (next.shape(0) != rows.shape(0)) {
        throw std::invalid_argument(std::to_string(rows.shape(0)) + " rays, but room for " +
                                    std::to_string(next.shape(0)) + " parts");
    }
    const nb::gil_scoped_release release;
    // Python's rows may lie anywhere; rays are aligned.
    std::vector<PassingRay> rays(rows.shape(0));
    if (rays.empty()) return;
    std::memcpy(static_cast<void*>(rays.data()), rows.data(), rays.size() * sizeof(PassingRay));
    self.go_on(rays, any ? kdtree::RayQuestion::any : kdtree::RayQuestion::closest,
               {next.data(), next.shape(0)}, threads);
    std::memcpy(rows.data(), rays.data(), rays.size() * sizeof(PassingRay));
}

}  // namespace

void add_ray_parts(nb::module_& m) {
    nb::class_<RayPart>(m, "RayPart")
        .def("__init__", &make_part, nb::arg("tree"), nb::arg("parts"), nb::arg("part"))
        .def("go_on", &go_on, nb::arg("rays"), nb::arg("next"), nb::arg("any"), nb::arg("threads"))
        .def_prop_ro("bytes", &RayPart::bytes);
}

}  // namespace heapwood::python
