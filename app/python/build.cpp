/// @file
/// Builds for Python, by the program's own backends and with its sentences.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <utility>

#include "allocators/platform/device.h"
#include "app/backends/backend.h"
#include "app/backends/frame_copy.cuh"
#include "app/measure/builds/result_json.h"
#include "app/measure/builds/turn.h"
#include "app/python/build_choice.h"
#include "app/python/interruptible.h"
#include "app/python/objects.h"
#include "app/python/parameters.h"
#include "app/verbs/choices.h"
#include "kdtree/built_tree.h"
#include "scenes/limits.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

using allocators::Place;
using app::Backend;
using app::FrameCopy;
using app::PoolSize;

/// A report of builds there. @throws where there is no such machine.
app::Report report_at(Place place, const std::string& preset, const nb::dict& fields) {
    app::Report report;
    report.options = {.config = read_parameters(preset, fields), .preset = preset, .run = {}};
    report.provenance.machine = app::choose_machine(
        place == Place::device ? app::DeviceChoice::gpu : app::DeviceChoice::cpu);
    return report;
}

/// What Python's calls have in common: a backend, and how it builds.
struct Order {
    /// Of a scene of `triangles` triangles.
    Order(const std::string& device, const std::string& method, const std::string& allocator,
          const AskedPool& pool, unsigned threads, const nb::dict& options,
          const std::string& preset, const nb::dict& fields, std::uint64_t triangles)
        : place(place_named(device)),
          report(report_at(place, preset, fields)),
          backend(backend_named(method, allocator, gpu(), pool.growth.grows)),
          chosen(pool.size) {
        report.root_bytes = kdtree::root_array_bytes(triangles);
        app::RunOptions& run = report.options.run;
        run.statistics = false;
        app::choose_pool(pool.size, pool.growth, report, backend, run);
        run.repeat = 1;
        run.warm_up = 0;
        run.threads = threads;
        run.choices = read_options(options, backend);
    }

    bool gpu() const { return place == Place::device; }

    /// Calls work(stop), without Python's lock.
    template <class Work>
    void run(const Work& work) const {
        // A GPU is the current one of a thread, and builds there end soon.
        gpu() ? work(std::stop_token()) : run_interruptibly(work);
    }
    /// @throws unless the result is done.
    void require(const app::Result& result) const {
        require_done({result.outcome, result.message}, result.allocator, result.built.pool_bytes,
                     chosen);
    }

    const Place place;
    app::Report report;  ///< of no scene yet
    const Backend& backend;
    std::optional<PoolSize> chosen;  ///< the pool that the caller has asked for
};

TreeObject* build(const SceneObject& scene, const std::string& device, const std::string& method,
                  const std::string& allocator, const std::optional<std::string>& pool,
                  const std::optional<std::string>& grow, unsigned threads, const nb::dict& options,
                  bool statistics, bool verify, const std::string& preset, const nb::dict& fields) {
    Order order(device, method, allocator, AskedPool(pool, grow), threads, options, preset, fields,
                scene.scene->triangles.size());
    app::MeasureOptions& how = order.report.options;
    how.run.statistics = statistics;
    how.verify = verify;

    const nb::gil_scoped_release release;
    app::note_scene(order.report, *scene.scene);  // Scene and load() warn
    app::Result result;
    kdtree::Tree tree;
    order.run([&](std::stop_token stop) {
        how.run.stop = std::move(stop);
        result = app::take_turn(order.backend, {*scene.scene, how, &tree});
    });
    order.require(result);
    return new TreeObject(tree_data(scene, std::move(tree), how.config,
                                    app::json_text(app::result_json(order.report, result))),
                          order.place);
}

/// A tree that lies where it was built, with its triangles.
class TreeThere final : public TreeData {
public:
    /// @param report of the build, without what is known of the scene; `result` without the tree.
    TreeThere(app::Report report, app::Result result, FrameCopy triangles,
              kdtree::FinishedTree tree, int device)
        : TreeData(report.options.config),
          report_(std::move(report)),
          result_(std::move(result)),
          triangles_(std::move(triangles)),
          there_(std::move(tree)),
          device_(device) {}

    const SceneObject& scene() const override {
        return scene_.get([&] {
            return scene_of_arrays(triangles_.positions(), triangles_.triangles(), kArrays);
        });
    }
    const kdtree::Tree& tree() const override {
        return tree_.get([&] {
            std::optional<platform::DeviceScope> its_gpu;  // kernels run on the current one
            if (there_.rays().place() == Place::device) {
                its_gpu.emplace(static_cast<std::uint32_t>(device_));
            }
            return there_.to_host();
        });
    }
    const std::string& report() const override {
        return json_.get([&] {
            app::Report report = report_;
            app::note_scene(report, *scene().scene);
            app::Result result = result_;
            result.tree = app::facts_of(tree(), config(), report.triangles);
            return app::json_text(app::result_json(report, result));
        });
    }
    const kdtree::FinishedTree* in_place() const override { return &there_; }
    int device() const override { return device_; }
    kdtree::Frame triangles() const override { return triangles_.frame(); }

private:
    const app::Report report_;
    const app::Result result_;
    const FrameCopy triangles_;
    const kdtree::FinishedTree there_;
    const int device_;
    Lazy<SceneObject> scene_;
    Lazy<kdtree::Tree> tree_;
    Lazy<std::string> json_;
};

using Positions = nb::ndarray<const float, nb::shape<-1, 3>>;
using Corners = nb::ndarray<nb::ro, nb::shape<-1, 3>>;

/// The kind of an array's numbers; nothing: no whole ones.
std::optional<app::Whole> kind_of(const Corners& corners) {
    constexpr std::array kKinds{
        std::pair(nb::dtype<std::int8_t>(), app::Whole::i8),
        std::pair(nb::dtype<std::int16_t>(), app::Whole::i16),
        std::pair(nb::dtype<std::int32_t>(), app::Whole::i32),
        std::pair(nb::dtype<std::int64_t>(), app::Whole::i64),
        std::pair(nb::dtype<std::uint8_t>(), app::Whole::u8),
        std::pair(nb::dtype<std::uint16_t>(), app::Whole::u16),
        std::pair(nb::dtype<std::uint32_t>(), app::Whole::u32),
        std::pair(nb::dtype<std::uint64_t>(), app::Whole::u64),
    };
    for (const auto& [type, kind] : kKinds) {
        if (corners.dtype() == type) return kind;
    }
    return std::nullopt;
}

template <class Array>
bool lies_at(const Array& array, Place place) {
    if (place == Place::host) return array.device_type() == nb::device::cpu::value;
    return array.device_type() == nb::device::cuda::value &&
           array.device_id() == platform::current_device();
}

/// Builds of arrays that lie where it builds, with one copy of them there. Nothing of them, nor of
/// the tree, passes the host.
/// @param stream on which the arrays are ready; the tree is ready on all of them
/// @return nullptr for arrays that only build() can take, by a scene, or that have a fault, of
/// which the scene has a sentence.
TreeObject* build_in_place(const Positions& positions, const Corners& corners,
                           const std::string& device, const std::string& allocator,
                           const std::optional<std::string>& pool,
                           const std::optional<std::string>& grow, unsigned threads,
                           const nb::dict& options, const std::string& preset,
                           const nb::dict& fields, std::uintptr_t stream) {
    Order order(device, "single", allocator, AskedPool(pool, grow), threads, options, preset,
                fields, corners.shape(0));
    const std::optional<app::Whole> kind = kind_of(corners);
    if (!kind || !lies_at(positions, order.place) || !lies_at(corners, order.place) ||
        corners.shape(0) == 0 || corners.shape(0) > scenes::kMaxTriangles ||
        positions.shape(0) > std::numeric_limits<std::uint32_t>::max()) {
        return nullptr;
    }
    app::CornerArray rows;
    rows.kind = *kind;
    rows.data = corners.data();
    rows.count = corners.shape(0);
    rows.stride = corners.stride(0);
    rows.column_stride = corners.stride(1);

    const nb::gil_scoped_release release;
    app::Result result = app::result_of(order.backend);
    result.built.pool_bytes = order.report.options.run.pool_bytes;
    if (const std::string why =
            app::below_smallest_pool(result.built.pool_bytes, order.backend.traits);
        !why.empty()) {
        result.fail(app::Outcome::pool_exhausted, why);
        order.require(result);
    }
    void* const on = reinterpret_cast<void*>(stream);
    std::optional<FrameCopy> triangles;
    std::optional<kdtree::FinishedTree> tree;
    bool at_fault = false;
    order.run([&](std::stop_token stop) {
        app::guarded(result, [&] {
            kdtree::RunConfig run = order.report.options.run;
            run.stop = std::move(stop);
            triangles.emplace(order.place,
                              app::RowArray<float>{positions.data(), positions.shape(0),
                                                   positions.stride(0), positions.stride(1)},
                              rows, on);
            const auto live =
                order.backend.make_live_tree(rows.count, order.report.options.config, run);
            try {
                live->rebuild(triangles->frame(), on);
            } catch (const kdtree::BuildError& error) {
                const kdtree::BuildResult& built = live->result();
                result.fail(
                    built.overwritten ? app::Outcome::overwritten : app::outcome_of(built.status),
                    error.what());
                return;
            } catch (const std::invalid_argument&) {
                at_fault = true;
                return;
            }
            tree.emplace(live->finished(on));
        });
    });
    if (at_fault) return nullptr;
    order.require(result);
    static_cast<kdtree::BuildResult&>(result.built) = tree->result();
    result.built.milliseconds = {result.built.build_ms};
    return new TreeObject(std::make_shared<const TreeThere>(
        std::move(order.report), std::move(result), std::move(*triangles), std::move(*tree),
        order.gpu() ? platform::current_device() : 0));
}

/// The names of the sound allocators that a machine has.
std::vector<std::string> allocator_names(const std::string& device) {
    const bool gpu = place_named(device) == Place::device;
    std::vector<std::string> names;
    for (const Backend* backend : app::backends()) {
        if (backend->gpu == gpu && app::sound(*backend).value_or(false))
            names.emplace_back(backend->traits.name);
    }
    return names;
}

}  // namespace

void add_build(nb::module_& m) {
    m.def("build", &build, nb::arg("scene"), nb::arg("device"), nb::arg("method"),
          nb::arg("allocator"), nb::arg("pool").none(), nb::arg("grow").none(), nb::arg("threads"),
          nb::arg("options"), nb::arg("statistics"), nb::arg("verify"), nb::arg("preset"),
          nb::arg("fields"));
    m.def("build_in_place", &build_in_place, nb::arg("vertices").noconvert(),
          nb::arg("triangles").noconvert(), nb::arg("device"), nb::arg("allocator"),
          nb::arg("pool").none(), nb::arg("grow").none(), nb::arg("threads"), nb::arg("options"),
          nb::arg("preset"), nb::arg("fields"), nb::arg("stream"), nb::rv_policy::take_ownership);
    m.def("allocator_names", &allocator_names, nb::arg("device"));
    m.def("cuda_absence", &platform::device_absence);
}

}  // namespace heapwood::python
