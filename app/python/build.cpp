/// @file
/// Builds for Python, by the program's own backends and with its sentences.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "allocators/platform/device.h"
#include "app/backends/backend.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/builds/turn.h"
#include "app/python/build_choice.h"
#include "app/python/interruptible.h"
#include "app/python/objects.h"
#include "app/python/parameters.h"
#include "app/verbs/choices.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

using allocators::Place;
using app::Backend;
using app::PoolSize;

TreeObject* build(const SceneObject& scene, const std::string& device, const std::string& method,
                  const std::string& allocator, const std::optional<std::string>& pool,
                  unsigned threads, const nb::dict& options, bool statistics, bool verify,
                  const std::string& preset, const nb::dict& fields) {
    const Place place = place_named(device);
    const bool gpu = place == Place::device;
    auto data = std::make_shared<TreeData>();
    data->scene = scene;
    data->config = read_parameters(preset, fields);
    app::Report report;
    report.provenance.machine =
        app::choose_machine(gpu ? app::DeviceChoice::gpu : app::DeviceChoice::cpu);
    app::note_scene(report, *scene.scene);  // Scene and load() warn
    const Backend& backend = backend_named(method, allocator, gpu);
    std::optional<PoolSize> chosen;
    if (pool) chosen = PoolSize::parse(*pool);
    app::RunOptions& run = report.options.run;
    report.options = {.config = data->config, .preset = preset, .run = {}, .verify = verify};
    run.pool_bytes = app::pool_bytes(chosen, report, backend);
    run.repeat = 1;
    run.warm_up = 0;
    run.threads = threads;
    run.choices = read_options(options, backend);
    run.statistics = statistics;

    const nb::gil_scoped_release release;
    app::Result result;
    const auto take_turn = [&](std::stop_token stop) {
        run.stop = std::move(stop);
        result = app::take_turn(backend, {*scene.scene, report.options, &data->tree});
    };
    // A GPU is the current one of a thread, and builds there end soon.
    gpu ? take_turn({}) : run_interruptibly(take_turn);
    require_done({result.outcome, result.message}, result.allocator, result.built.pool_bytes,
                 chosen);
    data->report = app::json_text(app::result_json(report, result));
    return new TreeObject(std::move(data), place);
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
          nb::arg("allocator"), nb::arg("pool").none(), nb::arg("threads"), nb::arg("options"),
          nb::arg("statistics"), nb::arg("verify"), nb::arg("preset"), nb::arg("fields"));
    m.def("allocator_names", &allocator_names, nb::arg("device"));
    m.def("cuda_absence", &platform::device_absence);
}

}  // namespace heapwood::python
