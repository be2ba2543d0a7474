/// @file
/// Distances for Python: arrays of points and boxes of any library in, arrays where they lie out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <deque>

#include "app/python/array_calls.h"
#include "kdtree/distance/distance_batch.h"

namespace heapwood::python {
namespace {

using allocators::Buffer;
using allocators::Place;
using kdtree::BatchOptions;
using kdtree::RayTree;
using kdtree::SignView;

/// An array of Python's that results go to, of the type that Python has found to be right.
using OutArray = nb::ndarray<nb::ndim<1>, nb::c_contig>;

/// What all calls end with: threads, stream, and where results go, or None.
using How =
    std::tuple<unsigned, std::optional<std::uintptr_t>, std::optional<std::vector<OutArray>>>;

/// The points of a call, and its results. Points on the host and a tree on a device: points are
/// copied there, and results back.
class PointCall {
public:
    PointCall(const RaySource& tree, const VectorArray& points, const How& how, const char* what)
        : points_(points),
          what_(what),
          call_(call_of(tree, place_of(points), {.threads = std::get<0>(how)}, std::get<1>(how),
                        what)),
          out_(std::get<2>(how)) {}

    std::uint64_t count() const { return points_.shape(0); }

    /// Vectors, a row for each point, where the tree lies.
    kdtree::VectorArray vectors(const VectorArray& array) {
        require(array);
        const kdtree::VectorArray here{array.data(), array.stride(0), array.stride(1)};
        return is_copied() ? kdtree::VectorArray{copied<glm::vec3>(here)} : here;
    }
    /// Numbers, one for each point, there.
    kdtree::NumberArray numbers(const End& end) {
        if (const double* value = std::get_if<double>(&end)) {
            return {.value = static_cast<float>(*value)};
        }
        const auto& array = std::get<NumberArray>(end);
        require(array);
        const kdtree::NumberArray here{array.data(), array.stride(0)};
        return is_copied() ? kdtree::NumberArray{copied<float>(here)} : here;
    }

    /// Calls work(tree laid out, how) without Python's lock, and waits for it if the call does.
    template <class Work>
    void run(const Work& work) {
        const nb::gil_scoped_release release;
        python::run(call_, points_, count(), work);
    }

    /// Room where the tree lies for the next results, `width` of T for each point; 0: one, in
    /// arrays of one axis. The next array of `out`, if it lies there.
    template <class T>
    T* room(std::size_t width = 0) {
        const std::uint64_t numbers = count() * std::max<std::size_t>(width, 1);
        const OutArray* out = out_ ? &out_->at(results_.size()) : nullptr;
        if (out != nullptr) {
            require_place(*out, points_, "out", what_);
            require_size("out", out->size(), "numbers", numbers);
        }
        const bool is_there = out != nullptr && !is_copied();
        add<T>(Buffer(call_.tree.place(), is_there ? 0 : numbers * sizeof(T)), count(), width);
        return static_cast<T*>(is_there ? out->data() : results_.back().memory.data());
    }
    /// Results that have been made where the tree lies.
    template <class T>
    void add(Buffer memory, std::size_t rows, std::size_t width = 0) {
        results_.push_back({std::move(memory), nb::dtype<T>(), {rows, width}});
    }

    /// The results as a tuple of Python's arrays, where the points lie; None: they are in `out`.
    nb::object results() {
        if (out_ && is_copied()) {
            for (std::size_t i = 0; i < results_.size(); ++i) {
                results_[i].memory.read(0, (*out_)[i].data(), results_[i].memory.size());
            }
        }
        if (out_) return nb::none();
        nb::list arrays;
        for (Result& result : results_) arrays.append(array(result));
        return nb::tuple(arrays);
    }

private:
    struct Result {
        Buffer memory;
        nb::dlpack::dtype type;
        std::array<std::size_t, 2> shape;  ///< the second 0: the array has one axis
    };

    nb::object array(Result& result) const {
        if (is_copied()) {
            Buffer here(Place::host, result.memory.size());
            result.memory.read(0, here.data(), here.size());
            result.memory = std::move(here);
        }
        void* data = result.memory.data();
        const bool on_host = result.memory.place() == Place::host;
        const nb::capsule owner(new Buffer(std::move(result.memory)),
                                [](void* buffer) noexcept { delete static_cast<Buffer*>(buffer); });
        const std::size_t axes = result.shape[1] == 0 ? 1 : 2;
        const std::size_t* shape = result.shape.data();
        if (on_host) {
            return nb::cast(nb::ndarray<nb::numpy>(data, axes, shape, owner, {}, result.type));
        }
        return nb::cast(nb::ndarray<>(data, axes, shape, owner, {}, result.type,
                                      nb::device::cuda::value, points_.device_id()));
    }
    void require_size(const char* array, std::size_t has, const char* unit,
                      std::uint64_t numbers) const {
        if (has == numbers) return;
        throw std::invalid_argument(std::string(array) + " has " + std::to_string(has) + " " +
                                    unit + " for " + std::to_string(numbers) + " of the " + what_);
    }
    template <class Array>
    void require(const Array& array) const {
        require_place(array, points_, "an argument", what_);
        require_size("an argument", array.shape(0), "rows", count());
    }
    bool is_copied() const { return place_of(points_) != call_.tree.place(); }
    /// A T for each point, one behind another where the tree lies.
    template <class T, class Array>
    const float* copied(const Array& here) {
        std::vector<T> rows(count());
        for (std::uint64_t i = 0; i < count(); ++i) rows[i] = here.at(i);
        Buffer& there = copies_.emplace_back(call_.tree.place(), rows.size() * sizeof(T));
        there.write(0, rows.data(), there.size());
        return there.as<float>();
    }

    const VectorArray& points_;
    const char* what_;
    Call call_;
    const std::optional<std::vector<OutArray>>& out_;
    std::deque<Buffer> copies_;
    std::deque<Result> results_;
};

/// The kernels' type of what is an int32 in Python.
std::uint32_t* numbers_of(std::int32_t* triangles) {
    return reinterpret_cast<std::uint32_t*>(triangles);
}

nb::object closest_point(const RaySource& tree, const VectorArray& points, const End& most,
                         bool distance_alone, const How& how) {
    PointCall call(tree, points, how, "points");
    const kdtree::VectorArray at = call.vectors(points);
    const kdtree::NumberArray limits = call.numbers(most);
    call.run([&](const RayTree& rays, const BatchOptions& options) {
        kdtree::NearestArrays to{.distances = call.room<float>()};
        if (!distance_alone) {
            to.triangles = numbers_of(call.room<std::int32_t>());
            to.barycentrics = call.room<float>(2);
            to.points = call.room<float>(3);
        }
        closest_points(rays, at, call.count(), limits, to, options);
    });
    return call.results();
}

/// A result of T for each point by signed_distances or contain.
template <class T, auto kAsk>
nb::object side(const TreeObject& tree, const VectorArray& points, bool by_normals,
                const How& how) {
    PointCall call(tree, points, how, "points");
    const kdtree::VectorArray at = call.vectors(points);
    call.run([&](const RayTree& rays, const BatchOptions& options) {
        const SignView signs = by_normals ? tree.signs().view() : SignView{nullptr};
        kAsk(rays, signs, at, call.count(), call.room<T>(), options);
    });
    return call.results();
}

/// @param result "any", "count" or "list", which has no `out`
nb::object triangles_of(PointCall& call, const kdtree::Regions& regions,
                        const std::string& result) {
    const std::uint64_t n = call.count();
    kdtree::TriangleLists lists;
    call.run([&](const RayTree& rays, const BatchOptions& options) {
        if (result == "any") return any_in(rays, regions, n, call.room<bool>(), options);
        if (result == "list") {
            lists = all_in(rays, regions, n, options);
        } else {
            count_in(rays, regions, n, numbers_of(call.room<std::int32_t>()), options);
        }
    });
    if (result == "list") {
        call.add<std::int64_t>(std::move(lists.offsets), n + 1);
        call.add<std::int32_t>(std::move(lists.triangles), lists.total);
    }
    return call.results();
}

nb::object within(const RaySource& tree, const VectorArray& points, const End& radius,
                  const std::string& result, const How& how) {
    PointCall call(tree, points, how, "points");
    return triangles_of(call, kdtree::BallArray{call.vectors(points), call.numbers(radius)},
                        result);
}

nb::object overlaps(const RaySource& tree, const VectorArray& lo, const VectorArray& hi,
                    const std::string& result, const How& how) {
    PointCall call(tree, lo, how, "boxes");
    return triangles_of(call, kdtree::BoxArray{call.vectors(lo), call.vectors(hi)}, result);
}

std::uint64_t open_edges(const TreeObject& tree) {
    const nb::gil_scoped_release release;
    return tree.signs().open_edges();
}

}  // namespace

void add_distances(nb::module_& m) {
    const auto add = [&m](const char* name, auto function, auto... inputs) {
        m.def(name, function, nb::arg("tree"), nb::arg(inputs).noconvert()..., nb::arg("choice"),
              nb::arg("how").noconvert());
    };
    add("closest_point", &closest_point, "points", "max_distance");
    add("signed_distance", &side<float, &kdtree::signed_distances>, "points");
    add("contains", &side<bool, &kdtree::contain>, "points");
    add("within", &within, "points", "radius");
    add("overlaps", &overlaps, "lo", "hi");
    m.def("open_edges", &open_edges, nb::arg("tree"));
}

}  // namespace heapwood::python
