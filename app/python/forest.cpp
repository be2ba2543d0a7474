/// @file
/// Builds in parts for Python: the program's coordinator and part servers, between which Python
/// carries requests, answers and files.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "allocators/platform/device.h"
#include "app/base/peak.h"
#include "app/distributed/forest_build.h"
#include "app/distributed/part_server.h"
#include "app/measure/builds/result_json.h"
#include "app/python/objects.h"
#include "app/python/parameters.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

using app::Json;

/// An object with send(request) and receive(seconds), which returns an answer, or {"lost": how} if
/// the worker is gone. Its calls take Python's lock, and end the build with what they raise.
class PythonPeer final : public app::Peer {
public:
    explicit PythonPeer(nb::object peer) : peer_(std::move(peer)) {}
    PythonPeer(const PythonPeer&) = delete;
    PythonPeer& operator=(const PythonPeer&) = delete;
    ~PythonPeer() override {
        const nb::gil_scoped_acquire acquire;
        peer_.reset();
    }

    void send(const Json& request) override {
        const nb::gil_scoped_acquire acquire;
        peer_.attr("send")(request.dump());
    }
    Json receive(double seconds) override {
        const nb::gil_scoped_acquire acquire;
        Json answer = Json::parse(nb::cast<std::string>(peer_.attr("receive")(seconds)));
        if (answer.contains("lost")) throw app::PeerLost(answer.at("lost").get<std::string>());
        return answer;
    }

private:
    nb::object peer_;
};

/// @param show called with (done, total, what) between steps; done and total are of cells, the
/// total
///     is 0 until they are known. What it raises ends the build.
/// @return the document of `heapwood build --parts --json`.
std::string build_forest(const std::string& scene, unsigned parts, const std::string& out,
                         const std::string& folder, double time_limit, const std::string& preset,
                         const nb::dict& fields, const nb::callable& make_peer,
                         const nb::callable& show) {
    app::BuildOptions options;
    options.arguments = {"heapwood.forest.build", scene};
    options.measure.config = read_parameters(preset, fields);
    options.measure.preset = preset;
    options.scene = scene;
    options.parts = parts;
    options.out = out;
    options.time_limit = time_limit;
    const auto make = [&make_peer](std::uint32_t part) -> std::unique_ptr<app::Peer> {
        const nb::gil_scoped_acquire acquire;
        return std::make_unique<PythonPeer>(make_peer(part));
    };
    const auto tell = [&show](const std::string& what, const app::Share& cells) {
        const nb::gil_scoped_acquire acquire;
        show(cells.done, cells.total, what);
    };
    const nb::gil_scoped_release release;
    app::ForestReport report;
    report.origin = app::new_report(options, app::cpu());
    report.out = out;
    check_output(scene, "the tree's file", out);
    kdtree::TreeWriter writer(out);
    app::build_by_peers(options, folder, make, writer, report, tell);
    report.peak = app::peak_bytes();
    return app::json_text(app::document_of(report).data);
}

void make_server(app::PartServer* self, const std::string& device, unsigned threads,
                 const std::string& preset, const nb::dict& fields) {
    const bool gpu = place_named(device) == allocators::Place::device;
    if (gpu) app::choose_machine(app::DeviceChoice::gpu);
    new (self) app::PartServer(read_parameters(preset, fields), {.threads = threads, .gpu = gpu});
}

std::string answer(app::PartServer& self, const std::string& request) {
    const nb::gil_scoped_release release;
    return self.answer(Json::parse(request)).dump();
}

}  // namespace

void add_forest(nb::module_& m) {
    m.def("build_forest", &build_forest, nb::arg("scene"), nb::arg("parts"), nb::arg("out"),
          nb::arg("folder"), nb::arg("time_limit"), nb::arg("preset"), nb::arg("fields"),
          nb::arg("make_peer"), nb::arg("show"));
    m.def(
        "request_files",
        [](const std::string& request) {
            app::RequestFiles files = app::files_of(Json::parse(request));
            return std::pair(std::move(files.needed), std::move(files.made));
        },
        nb::arg("request"));
    nb::class_<app::PartServer>(m, "PartServer")
        .def("__init__", &make_server, nb::arg("device"), nb::arg("threads"), nb::arg("preset"),
             nb::arg("fields"))
        .def("answer", &answer, nb::arg("request"));
}

}  // namespace heapwood::python
