#include "app/distributed/forest_build.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/memory/buffer.h"
#include "allocators/platform/device.h"
#include "allocators/platform/threads.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/distributed/parts_folder.h"
#include "app/distributed/process_peer.h"
#include "app/measure/engine/interrupts.h"
#include "app/measure/engine/plan.h"
#include "kdtree/cells/scene_workers.h"
#include "kdtree/distributed/local_workers.h"
#include "kdtree/distributed/memory_plan.h"
#include "scenes/pieces.h"
#include "scenes/warnings.h"

namespace heapwood::app {
namespace {

/// @param step is called between any two steps.
/// @param known is called when all cells are known.
template <class Step, class Known>
kdtree::ForestProgress progress(const ShowStep& show, const Step& step, const Known& known) {
    return {.level =
                [=](const kdtree::ForestLevel& level) {
                    step();
                    show("dividing " + grouped(level.open) + " nodes of the top", {});
                },
            .cell =
                [=](std::uint32_t done, std::uint32_t cells) {
                    step();
                    show("cell " + grouped(done + 1) + " of " + grouped(cells),
                         {.done = static_cast<double>(done), .total = static_cast<double>(cells)});
                },
            .cells_known =
                [=](const kdtree::ForestResult& top) {
                    log::detail(grouped(top.cells) + " cells of at most " +
                                grouped(top.largest_cell) + " references");
                    show("building " + grouped(top.cells) + " cells",
                         {.total = static_cast<double>(top.cells)});
                    known(top);
                }};
}

void show_on_terminal(const std::string& what, const Share& cells) {
    show_progress(what, cells, "");
}

/// @throws allocators::BufferError that says what ran out.
void throw_if_not_done(const kdtree::ForestResult& built) {
    if (built.status != kdtree::Status::done) throw allocators::BufferError(built.message);
}

/// Those that build cells in this process.
std::vector<std::uint32_t> gpus_of(const BuildOptions& options, bool gpu) {
    if (!options.devices.empty()) return options.devices;
    return gpu ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{};
}

/// @throws allocators::BufferError if several GPUs are to share the work, and lack memory for the
/// scene.
void require_whole_scenes(const std::vector<std::uint32_t>& gpus, const kdtree::MemoryPlan& plan) {
    if (gpus.size() < 2 || plan.place == kdtree::PartPlace::gpu) return;
    throw allocators::BufferError(
        "the scene does not fit into the memory that the build may take of each GPU: build by "
        "processes, which have parts of it (--parts " +
        std::to_string(gpus.size()) + ")");
}

/// For processes that take cells one after another: a few for each, so that they end together.
std::uint32_t cell_limit_for(std::uint32_t triangles, std::uint32_t processes) {
    constexpr std::uint32_t kCellsEach = 4;
    return triangles / (kCellsEach * processes);
}

}  // namespace

void build_here(const BuildOptions& options, unsigned threads, const Interrupts& interrupts,
                kdtree::TreeWriter& writer, ForestReport& report) {
    const auto go_on = [&interrupts] {
        if (interrupts.signal() != 0) throw Interrupted();
    };
    scenes::Scene scene;
    report.load_ms = platform::run_timed([&] { scene = scenes::load(options.scene, threads); });
    go_on();
    describe(report.origin, scene);
    const Machine& machine = report.origin.provenance.machine;
    const std::vector<std::uint32_t> gpus = gpus_of(options, machine.gpu);
    const kdtree::MemoryPlan plan = kdtree::plan_memory(
        options.memory.value_or(0), static_cast<std::uint32_t>(gpus.size()), machine.memory,
        scene.triangles.size(), scene.positions.size(), threads);
    require_whole_scenes(gpus, plan);
    const kdtree::ForestScene whole = kdtree::forest_scene(scene);
    const auto build = [&](kdtree::Workers& workers) {
        report.built = kdtree::build_forest(
            whole, options.measure.config, plan.cell_limit, workers, writer,
            progress(show_on_terminal, go_on, [&](const auto& top) { plan.check(top); }));
    };
    if (plan.place == kdtree::PartPlace::gpu) {
        std::vector<std::unique_ptr<kdtree::ScenePart>> parts;
        for (const std::uint32_t gpu : gpus) {
            parts.push_back(kdtree::scene_part_on_gpu(scene, whole.normalisation,
                                                      options.measure.config, gpu, threads));
        }
        kdtree::SceneWorkers workers(std::move(parts));
        build(workers);
        log::detail("cells: " + fixed(workers.times().waiting, 1) + " ms until they were built, " +
                    fixed(workers.times().ordering, 1) + " ms of putting them in order, " +
                    fixed(workers.times().copying, 1) + " ms of copying them to the file");
    } else {
        std::optional<platform::DeviceScope> gpu;
        if (!gpus.empty()) gpu.emplace(gpus.front());
        kdtree::LocalWorkers workers(scene, whole.normalisation, plan.parts, options.measure.config,
                                     {.threads = threads, .gpu = machine.gpu});
        build(workers);
    }
    go_on();
    report.parts = plan.parts;
    report.cell_limit = plan.cell_limit;
    report.memory = plan.limit;
    report.estimate = plan.bytes(report.built.cell_references, report.built.largest_cell);
    throw_if_not_done(report.built);
    show_progress("completing " + options.out);
    report.file_ms =
        platform::run_timed([&] { report.digest = writer.finish(scene, options.measure.config); });
}

void build_by_peers(const BuildOptions& options, const std::filesystem::path& folder,
                    const MakePeer& make, kdtree::TreeWriter& writer, ForestReport& report,
                    const ShowStep& show) {
    RemoteWorkers workers(options.scene, options.parts, folder, make, options.time_limit);
    scenes::SceneFacts scene;
    report.load_ms = platform::run_timed([&] { scene = workers.load(); });
    for (const std::string& warning : scenes::warnings(options.scene, scene)) {
        log::warning(warning);
    }
    const kdtree::ForestScene whole = kdtree::forest_scene(scene);
    report.parts = report.processes = options.parts;
    report.cell_limit = cell_limit_for(whole.triangles, options.parts);
    // The scene's part of the file needs nothing of the tree, and takes as long as loading.
    std::atomic<bool> given_up = false;
    const auto pieces = [&](const scenes::UsePiece& use) {
        const auto use_it = [&](const scenes::Scene& piece, std::uint64_t first) {
            if (given_up) throw std::runtime_error("the build has been given up");
            use(piece, first);
        };
        scenes::read_in_pieces(options.scene, use_it, 1);  // the peers have the other threads
    };
    const auto build = [&] {
        report.built =
            kdtree::build_forest(whole, options.measure.config, report.cell_limit, workers, writer,
                                 progress(
                                     show, [] {}, [](const auto&) {}));
        throw_if_not_done(report.built);
    };
    double build_ms = 0;
    const double both_ms =
        platform::run_threads(2, [&](std::uint32_t thread, std::uint32_t threads) {
            if (thread == 0) {
                try {
                    build_ms = platform::run_timed(build);
                } catch (...) {
                    given_up = true;
                    throw;
                }
            }
            if (thread + 1 == threads) writer.write_scene(pieces, scene);
        });
    report.lost = workers.lost();
    report.worker_peak = workers.peak();
    const auto cells = static_cast<double>(report.built.cells);
    show("completing " + options.out, {.done = cells, .total = cells});
    kdtree::TreeWriter::Finished finished;
    report.file_ms = both_ms - build_ms +
                     platform::run_timed([&] { finished = writer.finish(options.measure.config); });
    report.digest = finished.tree_digest;
    Report& origin = report.origin;
    origin.scene_path = options.scene;
    origin.triangles = scene.triangles;
    origin.vertices = finished.positions;
    origin.degenerate = scene.degenerate;
    origin.bounds = scene.bounds;
    origin.scene_digest = finished.scene_digest;
    origin.root_bytes = kdtree::root_array_bytes(scene.triangles);
}

void build_by_processes(const BuildOptions& options, const Interrupts& interrupts,
                        kdtree::TreeWriter& writer, ForestReport& report) {
    const PartsFolder folder(options.out);
    const auto make = [&](std::uint32_t part) {
        return std::make_unique<ProcessPeer>(
            options.arguments,
            device_of_part(options.devices, part, std::getenv("CUDA_VISIBLE_DEVICES")),
            interrupts.descriptor());
    };
    build_by_peers(options, folder.path(), make, writer, report, show_on_terminal);
}

}  // namespace heapwood::app
