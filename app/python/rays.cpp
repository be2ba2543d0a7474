/// @file
/// Rays for Python: arrays of any library in, arrays where the rays lie out.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <array>
#include <memory>
#include <utility>

#include "app/python/array_calls.h"

namespace heapwood::python {
namespace {

using allocators::Buffer;
using allocators::Place;
using kdtree::BatchOptions;

/// Where t, primitive and barycentrics go.
using OutHits = std::tuple<Out<float>, Out<std::int32_t>, Out<float>>;

kdtree::VectorArray vectors(const VectorArray& array, std::uint64_t count) {
    return {.data = array.data(),
            .stride = array.shape(0) == 1 && count != 1 ? 0 : array.stride(0),
            .component_stride = array.stride(1)};
}

kdtree::NumberArray ends(const End& end, const VectorArray& first, std::uint64_t count,
                         const char* what) {
    if (const double* value = std::get_if<double>(&end)) {
        return {.value = static_cast<float>(*value)};
    }
    const auto& array = std::get<NumberArray>(end);
    require_place(array, first, what);
    if (array.shape(0) != count) {
        throw std::invalid_argument(std::string(what) + " has " + std::to_string(array.shape(0)) +
                                    " numbers for " + std::to_string(count) + " rays");
    }
    return {.data = array.data(), .stride = array.stride(0)};
}

PlacedRays rays_of(const VectorArray& origins, const VectorArray& directions, const End& t_min,
                   const End& t_max) {
    require_place(directions, origins, "directions");
    const std::size_t count = origins.shape(0) == 1 ? directions.shape(0) : origins.shape(0);
    if (directions.shape(0) != 1 && directions.shape(0) != count) {
        throw std::invalid_argument(std::to_string(origins.shape(0)) + " origins, but " +
                                    std::to_string(directions.shape(0)) + " directions");
    }
    return {{.origins = vectors(origins, count),
             .directions = vectors(directions, count),
             .count = count,
             .t_min = ends(t_min, origins, count, "t_min"),
             .t_max = ends(t_max, origins, count, "t_max")},
            place_of(origins)};
}

/// Hits and the arrays that they become.
struct HitResults {
    /// @param may_wait as of Results
    HitResults(Place place, std::size_t hits, bool may_wait)
        : memory(place, hits * 4 * sizeof(float), may_wait),
          count(hits),
          arrays{.t = memory.array<float>(hits),
                 .triangles = memory.array<std::uint32_t>(hits),
                 .barycentrics = memory.array<float>(2 * hits)} {}

    nb::tuple to_python(int device) && {
        const Place place = memory.place();
        const nb::capsule owner = std::move(memory).owner();
        return nb::make_tuple(array_of(arrays.t, {count}, owner, place, device),
                              array_of(reinterpret_cast<std::int32_t*>(arrays.triangles), {count},
                                       owner, place, device),
                              array_of(arrays.barycentrics, {count, 2}, owner, place, device));
    }

    Results memory;
    std::size_t count;
    kdtree::HitArrays arrays;
};

kdtree::HitArrays arrays_of(const OutHits& out, const VectorArray& origins, std::uint64_t count) {
    const auto& [t, triangles, barycentrics] = out;
    require_room(t, origins, count);
    require_room(triangles, origins, count);
    require_room(barycentrics, origins, 2 * count);
    return {.t = t.data(),
            .triangles = reinterpret_cast<std::uint32_t*>(triangles.data()),
            .barycentrics = barycentrics.data()};
}

/// The hits as new arrays; None if they go to `out`.
nb::object closest_hit(const RaySource& self, const VectorArray& origins,
                       const VectorArray& directions, const End& t_min, const End& t_max,
                       bool coherent, bool fast, unsigned threads,
                       std::optional<std::uintptr_t> stream, const std::optional<OutHits>& out) {
    const PlacedRays rays = rays_of(origins, directions, t_min, t_max);
    const Call call =
        call_of(self, rays.place, {.fast = fast, .coherent = coherent, .threads = threads}, stream);
    std::optional<HitResults> hits;
    std::optional<kdtree::HitArrays> to;
    if (out) to = arrays_of(*out, origins, rays.count);
    {
        const nb::gil_scoped_release release;
        run(call, origins, rays.count, [&](const kdtree::RayTree& tree, const BatchOptions& how) {
            if (!to) to = hits.emplace(rays.place, rays.count, call.waits).arrays;
            closest_hits(tree, rays, *to, how);
        });
    }
    if (!hits) return nb::none();
    return std::move(*hits).to_python(origins.device_id());
}

/// count_hits, with the signed numbers that every library of Python's has.
void count_signed(const kdtree::RayTree& tree, const PlacedRays& rays, std::int32_t* counts,
                  const BatchOptions& options) {
    count_hits(tree, rays, reinterpret_cast<std::uint32_t*>(counts), options);
}

/// A result of one number a ray, by any_hits or count_signed: a new array, or None if it goes to
/// `out`.
template <class T, auto kTrace>
nb::object number(const RaySource& self, const VectorArray& origins, const VectorArray& directions,
                  const End& t_min, const End& t_max, bool coherent, bool fast, unsigned threads,
                  std::optional<std::uintptr_t> stream, const std::optional<Out<T>>& out) {
    const PlacedRays rays = rays_of(origins, directions, t_min, t_max);
    const Call call =
        call_of(self, rays.place, {.fast = fast, .coherent = coherent, .threads = threads}, stream);
    std::optional<Results> results;
    if (out) require_room(*out, origins, rays.count);
    T* numbers = out ? out->data() : nullptr;
    {
        const nb::gil_scoped_release release;
        run(call, origins, rays.count, [&](const kdtree::RayTree& tree, const BatchOptions& how) {
            if (!out) {
                numbers = results.emplace(rays.place, rays.count * sizeof(T), call.waits)
                              .array<T>(rays.count);
            }
            kTrace(tree, rays, numbers, how);
        });
    }
    if (!results) return nb::none();
    return array_of(numbers, {rays.count}, std::move(*results).owner(), rays.place,
                    origins.device_id());
}

nb::tuple all_hits_of(const RaySource& self, const VectorArray& origins,
                      const VectorArray& directions, const End& t_min, const End& t_max,
                      bool coherent, bool fast, unsigned threads,
                      std::optional<std::uintptr_t> stream) {
    const PlacedRays rays = rays_of(origins, directions, t_min, t_max);
    const Call call =
        call_of(self, rays.place, {.fast = fast, .coherent = coherent, .threads = threads}, stream);
    std::optional<HitResults> hits;
    Buffer begins;
    {
        const nb::gil_scoped_release release;
        run(call, origins, rays.count, [&](const kdtree::RayTree& tree, const BatchOptions& how) {
            const auto room = [&](std::uint64_t total) {
                return hits.emplace(rays.place, total, call.waits).arrays;
            };
            begins = all_hits(tree, rays, room, how);
        });
    }
    auto* offsets = begins.as<std::int64_t>();
    const nb::capsule owner(new Buffer(std::move(begins)),
                            [](void* buffer) noexcept { delete static_cast<Buffer*>(buffer); });
    const int device = origins.device_id();
    const nb::tuple columns = std::move(*hits).to_python(device);
    return nb::make_tuple(array_of(offsets, {rays.count + 1}, owner, rays.place, device),
                          columns[0], columns[1], columns[2]);
}

}  // namespace

void add_rays(nb::module_& m) {
    const auto add = [&m](const char* name, auto function, auto... more) {
        m.def(name, function, nb::arg("tree"), nb::arg("origins").noconvert(),
              nb::arg("directions").noconvert(), nb::arg("t_min").noconvert(),
              nb::arg("t_max").noconvert(), nb::arg("coherent"), nb::arg("fast"),
              nb::arg("threads"), nb::arg("stream").none(), more...);
    };
    const auto out = nb::arg("out").noconvert().none();
    add("closest_hit", &closest_hit, out);
    add("any_hit", &number<bool, &any_hits>, out);
    add("count", &number<std::int32_t, &count_signed>, out);
    add("all_hits", &all_hits_of);
}

}  // namespace heapwood::python
