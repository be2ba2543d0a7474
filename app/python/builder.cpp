/// @file
/// Builders for Python: trees that are rebuilt, frame after frame, and traced where they lie.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <memory>
#include <shared_mutex>
#include <stop_token>
#include <utility>

#include "allocators/platform/device.h"
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
using app::PoolSize;

using Positions = nb::ndarray<const float, nb::shape<-1, 3>, nb::c_contig, nb::device::cuda>;
using Corners = nb::ndarray<const std::int32_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cuda>;

/// A live tree of one number of triangles, and what is needed to make it again.
class BuilderObject : public RaySource {
public:
    BuilderObject(const app::Backend& backend, Place place, std::uint64_t triangles,
                  kdtree::BuildConfig config, kdtree::RunConfig run, std::optional<PoolSize> pool)
        : backend_(backend),
          place_(place),
          device_(place == Place::device ? platform::current_device() : 0),
          triangles_(triangles),
          config_(std::move(config)),
          run_(std::move(run)),
          pool_(pool) {}

    Place place() const override { return place_; }
    int device() const override { return device_; }
    const kdtree::RayTree& rays() const override { return built().rays(); }
    std::shared_lock<std::shared_mutex> hold() const override { return std::shared_lock(mutex_); }

    /// Builds the tree of a scene of the host, without Python's lock. On a GPU it is on a stream,
    /// and `waits` until rays on any stream can use the tree.
    void rebuild(const SceneObject& scene, std::uintptr_t stream, bool waits) {
        const nb::gil_scoped_release release;
        const std::unique_lock lock(mutex_);
        require_device();
        prepare();
        if (place_ == Place::device) return build(*scene.scene, stream, waits);
        run_interruptibly([&](std::stop_token stop) {
            const std::stop_callback interrupts(stop, [this] { stop_.request_stop(); });
            build(*scene.scene, stream, waits);
        });
    }

    /// The same of positions on the builder's GPU, which are ready on the stream.
    void rebuild_in_place(const Positions& positions, const Corners& corners, std::uintptr_t stream,
                          bool waits) {
        require_here(positions.device_id(), "vertices");
        require_here(corners.device_id(), "triangles");
        if (positions.shape(0) > std::numeric_limits<std::uint32_t>::max()) {
            throw std::invalid_argument("a scene must have fewer than 2^32 vertices, not " +
                                        std::to_string(positions.shape(0)));
        }
        const nb::gil_scoped_release release;
        const std::unique_lock lock(mutex_);
        require_device();
        prepare();
        build(
            kdtree::Frame{
                .positions = reinterpret_cast<const glm::vec3*>(positions.data()),
                .position_count = static_cast<std::uint32_t>(positions.shape(0)),
                .triangles = reinterpret_cast<const glm::uvec3*>(corners.data()),
                .triangle_count = static_cast<std::uint32_t>(corners.shape(0)),
                .bounds = {},  // found by the build
            },
            stream, waits);
    }

    /// The last tree with its scene, for rays at the same place.
    TreeObject* tree(const SceneObject& scene) const {
        const nb::gil_scoped_release release;
        const auto lock = hold();
        return new TreeObject(tree_data(scene, built().to_host(), config_, ""), place_);
    }

    double build_ms() const {
        const nb::gil_scoped_release release;
        const auto lock = hold();
        return built().result().build_ms;
    }
    std::uint64_t pool_bytes() const {
        const nb::gil_scoped_release release;
        const auto lock = hold();
        const bool has_grown = live_ != nullptr && live_->result().growth;
        return has_grown ? live_->result().pool_bytes : run_.pool_bytes;
    }

private:
    const app::LiveTree& built() const {
        if (!has_tree_)
            throw std::invalid_argument("the builder has no tree yet: rebuild() makes it");
        return *live_;
    }

    void require_here(int device, const char* what) const {
        if (device == device_) return;
        throw std::invalid_argument(std::string(what) + " lie on GPU " + std::to_string(device) +
                                    ", but the builder on GPU " + std::to_string(device_));
    }
    void require_device() const {
        if (place_ == Place::host || platform::current_device() == device_) return;
        throw std::invalid_argument("the builder lies on GPU " + std::to_string(device_) +
                                    ", but GPU " + std::to_string(platform::current_device()) +
                                    " is the current one: choose the builder's");
    }

    /// Makes a new live tree if none exists, or if a signal has interrupted the last one: a stop
    /// cannot be taken back.
    void prepare() {
        has_tree_ = false;
        if (live_ != nullptr && !stop_.stop_requested()) return;
        live_.reset();  // there may be no room for two
        stop_ = {};
        run_.stop = stop_.get_token();
        live_ = backend_.make_live_tree(triangles_, config_, run_);
    }

    template <class Source>
    void build(const Source& source, std::uintptr_t stream, bool waits) {
        void* const on = reinterpret_cast<void*>(stream);
        try {
            live_->rebuild(source, on);
        } catch (const kdtree::BuildError& error) {
            if (stop_.stop_requested()) return;  // what Ctrl-C raises is thrown
            require_done({app::outcome_of(live_->result().status), error.what()}, backend_.traits,
                         run_.pool_bytes, pool_);
            throw;
        }
        if (waits) kdtree::wait(live_->rays(), {.stream = on});
        has_tree_ = true;
    }

    const app::Backend& backend_;
    const Place place_;
    const int device_;
    const std::uint64_t triangles_;
    const kdtree::BuildConfig config_;
    kdtree::RunConfig run_;
    const std::optional<PoolSize> pool_;  ///< that the user has chosen
    mutable std::shared_mutex mutex_;
    std::stop_source stop_;
    std::unique_ptr<app::LiveTree> live_;
    bool has_tree_ = false;
};

BuilderObject* make_builder(std::uint64_t triangles, const std::string& device,
                            const std::string& allocator, const std::optional<std::string>& size,
                            const std::optional<std::string>& grow, unsigned threads,
                            const nb::dict& options, const std::string& preset,
                            const nb::dict& fields) {
    if (triangles == 0 || triangles > scenes::kMaxTriangles) {
        throw std::invalid_argument("a scene must have between 1 and 2^30 - 1 triangles, not " +
                                    std::to_string(triangles));
    }
    const Place place = place_named(device);
    const bool gpu = place == Place::device;
    app::Report report;
    report.provenance.machine =
        app::choose_machine(gpu ? app::DeviceChoice::gpu : app::DeviceChoice::cpu);
    report.root_bytes = kdtree::root_array_bytes(triangles);
    const AskedPool pool(size, grow);
    const app::Backend& backend = backend_named("single", allocator, gpu, pool.growth.grows);
    kdtree::RunConfig run{.threads = threads, .choices = read_options(options, backend)};
    app::choose_pool(pool.size, pool.growth, report, backend, run);
    if (const std::string why = app::below_smallest_pool(run.pool_bytes, backend.traits);
        !why.empty()) {
        require_done({app::Outcome::pool_exhausted, why}, backend.traits, run.pool_bytes,
                     pool.size);
    }
    return new BuilderObject(backend, place, triangles, read_parameters(preset, fields),
                             std::move(run), pool.size);
}

}  // namespace

void add_builder(nb::module_& m) {
    nb::class_<BuilderObject, RaySource>(m, "Builder")
        .def_static("make", &make_builder, nb::arg("triangles"), nb::arg("device"),
                    nb::arg("allocator"), nb::arg("pool").none(), nb::arg("grow").none(),
                    nb::arg("threads"), nb::arg("options"), nb::arg("preset"), nb::arg("fields"))
        .def("rebuild", &BuilderObject::rebuild, nb::arg("scene"), nb::arg("stream"),
             nb::arg("waits"))
        .def("rebuild_in_place", &BuilderObject::rebuild_in_place, nb::arg("vertices").noconvert(),
             nb::arg("triangles").noconvert(), nb::arg("stream"), nb::arg("waits"))
        .def("tree", &BuilderObject::tree, nb::arg("scene"))
        .def_prop_ro("build_ms", &BuilderObject::build_ms)
        .def_prop_ro("pool_bytes", &BuilderObject::pool_bytes);
}

}  // namespace heapwood::python
