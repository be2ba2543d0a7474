/// @file
/// The module heapwood._core: what the package's Python calls. Nothing else should.
#include <nanobind/nanobind.h>

#include "app/base/version.h"
#include "app/python/objects.h"
#include "kdtree/tree/tree_format.h"

NB_MODULE(_core, m) {
    using namespace heapwood;
    m.attr("version") = app::version().version;
    m.attr("cuda") = app::version().cuda;
    constexpr auto kMagic = kdtree::tree_format::kMagic;
    m.attr("tree_magic") = nanobind::bytes(kMagic.data(), kMagic.size());
    python::add_errors(m);
    python::add_scenes(m);
    python::add_trees(m);
    python::add_parameters(m);
    python::add_build(m);
    python::add_builder(m);
    python::add_rays(m);
    python::add_distances(m);
    python::add_forest(m);
    python::add_ray_parts(m);
    python::add_heaps(m);
}
