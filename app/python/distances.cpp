/// @file
/// Distances for Python: arrays of points and boxes of any library in, arrays where they lie out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <deque>

#include "app/python/array_calls.h"
#include "kdtree/distance/distance_batch.h"

namespace heapwood::python {
namespace {

using allocators::Buffer;
using allocators::Place;
using kdtree::BatchOptions;
using kdtree::SignView;

using Stream = std::optional<std::uintptr_t>;

/// Where distances, triangles, barycentrics and nearest points go.
using OutNearest = std::tuple<Out<float>, Out<std::int32_t>, Out<float>, Out<float>>;

/// The points of a call, and their results. Points on the host and a tree on a device: points are
/// copied there, and results back.
class PointCall {
public:
    PointCall(const RaySource& tree, const VectorArray& points, unsigned threads, Stream stream,
              const char* what)
        : points_(points),
          what_(what),
          place_(place_of(points)),
          call_(call_of(tree, place_, {.threads = threads}, stream, what)) {}

    std::uint64_t count() const { return points_.shape(0); }

    /// Vectors, a row for each point, where the tree lies.
    kdtree::VectorArray vectors(const VectorArray& array) {
        require(array, array.shape(0));
        const kdtree::VectorArray here{array.data(), array.stride(0), array.stride(1)};
        if (!is_copied()) return here;
        std::vector<glm::vec3> rows(count());
        for (std::uint64_t i = 0; i < count(); ++i) rows[i] = here.at(i);
        return {copied(rows).as<float>()};
    }
    /// Numbers, one for each point, there.
    kdtree::NumberArray numbers(const End& end) {
        if (const double* value = std::get_if<double>(&end)) {
            return {.value = static_cast<float>(*value)};
        }
        const auto& array = std::get<NumberArray>(end);
        require(array, array.shape(0));
        const kdtree::NumberArray here{array.data(), array.stride(0)};
        if (!is_copied()) return here;
        std::vector<float> values(count());
        for (std::uint64_t i = 0; i < count(); ++i) values[i] = here.at(i);
        return {.data = copied(values).as<float>()};
    }

    /// Calls work(tree laid out, how) without Python's lock, and waits for it if the call does.
    template <class Work>
    void run(const Work& work) {
        const nb::gil_scoped_release release;
        python::run(call_, points_, count(), work);
    }

    /// Room where the tree lies for `per_point` numbers of each point: `out`, if it lies there.
    template <class T>
    T* room(std::uint64_t per_point, const Out<T>* out = nullptr) {
        const std::uint64_t numbers = count() * per_point;
        if (out != nullptr) require_room(*out, points_, numbers, what_, what_);
        const bool is_there = out != nullptr && !is_copied();
        const std::uint64_t bytes = is_there ? 0 : numbers * sizeof(T);
        const Buffer& results = results_.emplace_back(call_.tree.place(), bytes);
        return is_there ? out->data() : results.template as<T>();
    }
    void add(Buffer results) { results_.push_back(std::move(results)); }
    /// The i-th results as an array of Python's, where the points lie; None: they are in `out`.
    template <class T>
    nb::object array(std::size_t i, std::initializer_list<std::size_t> shape,
                     const Out<T>* out = nullptr) {
        Buffer results = std::move(results_[i]);
        if (out != nullptr) {
            if (is_copied()) results.read(0, out->data(), results.size());
            return nb::none();
        }
        if (is_copied()) {
            Buffer here(Place::host, results.size());
            results.read(0, here.data(), here.size());
            results = std::move(here);
        }
        T* data = results.as<T>();
        const nb::capsule owner(new Buffer(std::move(results)),
                                [](void* buffer) noexcept { delete static_cast<Buffer*>(buffer); });
        return array_of(data, shape, owner, place_, points_.device_id());
    }

private:
    template <class Array>
    void require(const Array& array, std::uint64_t rows) const {
        require_place(array, points_, "an argument", what_);
        if (rows == count()) return;
        throw std::invalid_argument("an argument has " + std::to_string(rows) + " rows for " +
                                    std::to_string(count()) + " " + what_);
    }
    bool is_copied() const { return place_ != call_.tree.place(); }
    template <class T>
    const Buffer& copied(const std::vector<T>& values) {
        Buffer& there = copies_.emplace_back(call_.tree.place(), values.size() * sizeof(T));
        there.write(0, values.data(), there.size());
        return there;
    }

    const VectorArray& points_;
    const char* what_;
    Place place_;
    Call call_;
    std::deque<Buffer> copies_;
    std::deque<Buffer> results_;
};

/// The i-th of several arrays that results go to; nullptr: they are made.
template <std::size_t i>
auto* part(const std::optional<OutNearest>& out) {
    return out ? &std::get<i>(*out) : nullptr;
}

/// The kernels' type of what is an int32 in Python.
std::uint32_t* numbers_of(std::int32_t* triangles) {
    return reinterpret_cast<std::uint32_t*>(triangles);
}

nb::tuple closest_point(const RaySource& tree, const VectorArray& points, const End& most,
                        unsigned threads, Stream stream, const std::optional<OutNearest>& out) {
    PointCall call(tree, points, threads, stream, "points");
    const std::size_t n = call.count();
    const kdtree::VectorArray at = call.vectors(points);
    const kdtree::NumberArray limits = call.numbers(most);
    call.run([&](const kdtree::RayTree& rays, const BatchOptions& how) {
        auto* const distances = call.room(1, part<0>(out));
        auto* const triangles = numbers_of(call.room(1, part<1>(out)));
        auto* const barycentrics = call.room(2, part<2>(out));
        closest_points(rays, at, n, limits,
                       {distances, triangles, barycentrics, call.room(3, part<3>(out))}, how);
    });
    return nb::make_tuple(call.array(0, {n}, part<0>(out)), call.array(1, {n}, part<1>(out)),
                          call.array(2, {n, 2}, part<2>(out)), call.array(3, {n, 3}, part<3>(out)));
}

/// The array that results of one number a point go to; nullptr: it is made.
template <class T>
const Out<T>* whole(const std::optional<Out<T>>& out) {
    return out ? &*out : nullptr;
}

nb::object distance(const RaySource& tree, const VectorArray& points, const End& most,
                    unsigned threads, Stream stream, const std::optional<Out<float>>& out) {
    PointCall call(tree, points, threads, stream, "points");
    const kdtree::VectorArray at = call.vectors(points);
    const kdtree::NumberArray limits = call.numbers(most);
    call.run([&](const kdtree::RayTree& rays, const BatchOptions& how) {
        closest_points(rays, at, call.count(), limits, {.distances = call.room(1, whole(out))},
                       how);
    });
    return call.array(0, {call.count()}, whole(out));
}

/// A result of T for each point by signed_distances or contain.
template <class T, auto kAsk>
nb::object side(const TreeObject& tree, const VectorArray& points, bool by_normals,
                unsigned threads, Stream stream, const std::optional<Out<T>>& out) {
    PointCall call(tree, points, threads, stream, "points");
    const kdtree::VectorArray at = call.vectors(points);
    call.run([&](const kdtree::RayTree& rays, const BatchOptions& how) {
        const SignView signs = by_normals ? tree.signs().view() : SignView{nullptr};
        kAsk(rays, signs, at, call.count(), call.room(1, whole(out)), how);
    });
    return call.array(0, {call.count()}, whole(out));
}

/// Where whether there are triangles goes, or how many there are.
using OutTriangles = std::optional<std::variant<Out<bool>, Out<std::int32_t>>>;

template <class T>
const Out<T>* part(const OutTriangles& out) {
    return out ? &std::get<Out<T>>(*out) : nullptr;
}

/// @param result "any", "count" or "list", which has no `out`
template <class Regions>
nb::object triangles_of(PointCall& call, const Regions& regions, const std::string& result,
                        const OutTriangles& out) {
    const std::size_t n = call.count();
    kdtree::TriangleLists lists;
    call.run([&](const kdtree::RayTree& rays, const BatchOptions& how) {
        if (result == "any") return any_in(rays, regions, n, call.room(1, part<bool>(out)), how);
        if (result == "count") {
            auto* const counts = numbers_of(call.room(1, part<std::int32_t>(out)));
            return count_in(rays, regions, n, counts, how);
        }
        lists = all_in(rays, regions, n, how);
    });
    if (result == "any") return call.array(0, {n}, part<bool>(out));
    if (result == "count") return call.array(0, {n}, part<std::int32_t>(out));
    call.add(std::move(lists.offsets));
    call.add(std::move(lists.triangles));
    return nb::make_tuple(call.array<std::int64_t>(0, {n + 1}),
                          call.array<std::int32_t>(1, {lists.total}));
}

nb::object within(const RaySource& tree, const VectorArray& points, const End& radius,
                  const std::string& result, unsigned threads, Stream stream,
                  const OutTriangles& out) {
    PointCall call(tree, points, threads, stream, "points");
    return triangles_of(call, kdtree::BallArray{call.vectors(points), call.numbers(radius)}, result,
                        out);
}

nb::object overlaps(const RaySource& tree, const VectorArray& lo, const VectorArray& hi,
                    const std::string& result, unsigned threads, Stream stream,
                    const OutTriangles& out) {
    PointCall call(tree, lo, threads, stream, "boxes");
    return triangles_of(call, kdtree::BoxArray{call.vectors(lo), call.vectors(hi)}, result, out);
}

std::uint64_t open_edges(const TreeObject& tree) {
    const nb::gil_scoped_release release;
    return tree.signs().open_edges();
}

}  // namespace

void add_distances(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
    const auto add = [&m](const char* name, auto function, auto... more) {
        m.def(name, function, nb::arg("tree"), more..., nb::arg("threads"),
              nb::arg("stream").none(), nb::arg("out").noconvert().none());
    };
    add("closest_point", &closest_point, array("points"), array("max_distance"));
    add("distance", &distance, array("points"), array("max_distance"));
    add("signed_distance", &side<float, &kdtree::signed_distances>, array("points"),
        nb::arg("by_normals"));
    add("contains", &side<bool, &kdtree::contain>, array("points"), nb::arg("by_normals"));
    add("within", &within, array("points"), array("radius"), nb::arg("result"));
    add("overlaps", &overlaps, array("lo"), array("hi"), nb::arg("result"));
    m.def("open_edges", &open_edges, nb::arg("tree"));
}

}  // namespace heapwood::python
