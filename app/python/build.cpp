/// @file
/// Builds for Python, by the program's own backends and with its sentences.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "allocators/platform/device.h"
#include "app/backends/backend.h"
#include "app/base/text.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/builds/turn.h"
#include "app/python/interruptible.h"
#include "app/python/objects.h"
#include "app/python/parameters.h"
#include "app/verbs/choices.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

using allocators::Choices;
using allocators::Option;
using allocators::Place;
using app::Backend;
using app::Outcome;
using app::PoolSize;

const Backend& backend_named(const std::string& method, const std::string& allocator, bool gpu) {
    app::BuildParameters parameters;
    parameters.allocators = {allocator};
    if (method == "levels") return app::level_backend(gpu);
    if (method != "single") {
        throw std::invalid_argument("method '" + method + "' is neither single nor levels");
    }
    if (allocator == "all") throw std::invalid_argument("one tree needs one allocator, not all");
    return *app::choose_backends(app::backends(), parameters, gpu).front();
}

/// @throws std::invalid_argument for an option or a value that the allocator does not have.
Choices read_options(const nb::dict& options, const Backend& backend) {
    Choices choices;
    for (const auto& [key, value] : options) {
        choices.push_back({nb::cast<std::string>(key), nb::str(value).c_str()});
    }
    std::vector<std::string> keys;
    for (const Option& option : backend.options) {
        allocators::chosen(choices, option);
        keys.emplace_back(option.key);
    }
    for (const auto& choice : choices) {
        if (std::find(keys.begin(), keys.end(), choice.key) != keys.end()) continue;
        throw std::invalid_argument(std::string(backend.traits.name) + " has no option '" +
                                    choice.key + "'; it has " +
                                    (keys.empty() ? "none" : app::joined(keys, ", ")) +
                                    app::did_you_mean(choice.key, keys));
    }
    return choices;
}

/// @throws what suits the outcome, unless the build is done.
void require_done(const app::Result& result, const PoolSize& pool) {
    const std::string message = std::string(result.allocator.name) + ": " + result.message;
    switch (result.outcome) {
        case Outcome::done:
            return;
        case Outcome::pool_exhausted:
        case Outcome::overwritten: {
            PoolSize larger = pool.doubled();
            if (result.built.pool_bytes < result.allocator.smallest_pool) {
                larger = {.bytes = result.allocator.smallest_pool};
            }
            throw OutOfPool(message + "; pass a larger pool, as pool=\"" + larger.text() + "\"");
        }
        case Outcome::verification_failed:
            throw VerificationError(message);
        case Outcome::nodes_exhausted:
        case Outcome::references_exhausted:
        case Outcome::out_of_memory:
            throw allocators::BufferError(message);
        default:
            throw std::runtime_error(message);
    }
}

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
    require_done(result, chosen.value_or(PoolSize{.bytes = run.pool_bytes}));
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
