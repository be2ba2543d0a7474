/// @file
/// The verb `build`.
#include <unistd.h>
#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "allocators/heap.h"
#include "app/backends/backend.h"
#include "app/commands/commands.h"
#include "app/commands/minimal_pool.h"
#include "app/commands/pool_trial.h"
#include "app/console.h"
#include "app/log.h"
#include "app/output.h"
#include "app/printers/printers.h"
#include "app/report.h"
#include "app/text.h"
#include "kdtree/device.h"
#include "kdtree/verify.h"

namespace heapwood::app {
namespace {

/// @throws UsageError for parameters that are no configuration of the builder.
void check(const kdtree::BuildConfig& config) {
    try {
        kdtree::validate(config);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
}

/// The machine that the user's choice comes down to. @throws NoDevice.
Machine choose_machine(DeviceChoice choice) {
    if (choice == DeviceChoice::gpu) return gpu();
    if (choice == DeviceChoice::automatic) {
        if (kdtree::device_available()) return gpu();
        log::detail("building on the CPU: " + kdtree::device_absence());
    }
    return cpu();
}

/// The available backends of these names on that machine, each once; "all" stands for every one but
/// the specimens.
/// @throws UsageError for an unknown name.
std::vector<const Backend*> choose_backends(const std::vector<const Backend*>& available,
                                            const std::vector<std::string>& names, bool gpu) {
    std::vector<const Backend*> there;
    std::vector<std::string> known;
    std::vector<std::string> sound;
    for (const Backend* backend : available) {
        if (backend->gpu != gpu) continue;
        there.push_back(backend);
        known.emplace_back(backend->traits.name);
        if (backend->traits.sound) sound.push_back(known.back());
    }
    std::vector<const Backend*> chosen;
    const bool all = std::find(names.begin(), names.end(), "all") != names.end();
    for (const std::string& name : all ? sound : names) {
        const auto found = std::find(known.begin(), known.end(), name);
        if (found == known.end()) {
            throw UsageError("no allocator '" + name + "'; there are " + joined(known, ", ") +
                             did_you_mean(name, known));
        }
        const Backend* backend = there[static_cast<std::size_t>(found - known.begin())];
        if (std::find(chosen.begin(), chosen.end(), backend) == chosen.end()) {
            chosen.push_back(backend);
        }
    }
    return chosen;
}

Outcome outcome(kdtree::Status status) {
    switch (status) {
        case kdtree::Status::done:
            return Outcome::done;
        case kdtree::Status::pool_exhausted:
            return Outcome::pool_exhausted;
        case kdtree::Status::nodes_exhausted:
            return Outcome::nodes_exhausted;
        case kdtree::Status::references_exhausted:
            return Outcome::references_exhausted;
    }
    return Outcome::failed;
}

/// The first thing that is wrong with a finished build, or an empty string. Sets `verified`.
std::string fault(const BuildOptions& options, const scenes::Scene& scene,
                  const kdtree::BuildResult& built, Result& result) {
    if (options.verify) {
        show_progress("verifying the tree of " + std::string(result.allocator.name));
        const std::uint32_t depth = kdtree::max_depth(options.config, scene.triangles.size());
        if (const auto wrong = kdtree::verify(scene, built.tree, depth)) {
            return "the tree is wrong: " + *wrong;
        }
        result.tree->verified = true;
    }
    if (result.allocator.full && result.leaked_bytes > 0) {
        return bytes_text(result.leaked_bytes) +
               " of the pool were still allocated after the "
               "build, which frees all: the allocator lost them";
    }
    return "";
}

/// Moves a finished build's figures into the result.
void record(const BuildOptions& options, const scenes::Scene& scene,
            const kdtree::BuildResult& built, Result& result) {
    result.samples = built.milliseconds;
    result.upload_ms = built.upload_ms;
    result.pool_ms = built.pool_ms;
    result.pool_bytes = built.pool_bytes;
    result.overhead_bytes = built.overhead_bytes;
    result.leaked_bytes = built.leaked_bytes;
    result.memory = built.memory;
    result.warps = built.warps;
    result.registers = built.registers;
    result.spill_bytes = built.spill_bytes;
    if (options.statistics && result.method == Method::single) {
        result.allocations = built.allocations;
    }
    result.peak = built.peak;
    result.profile = built.profile;
    if (built.external_fragmentation >= 0) {
        result.external_fragmentation = built.external_fragmentation;
    }
    TreeFacts tree;
    tree.quality = kdtree::quality(built.tree, scene.triangles.size());
    tree.sah = tree.quality.sah(static_cast<double>(options.config.traversal_cost),
                                static_cast<double>(options.config.intersection_cost));
    tree.sah_1_1_5 = tree.quality.sah(1, 1.5);
    tree.digest = kdtree::digest(built.tree);
    result.tree = tree;
}

/// One allocator's turn; whatever goes wrong is in the result.
Result build_with(const Backend& backend, const BuildOptions& options, const scenes::Scene& scene,
                  const Report& report) {
    Result result;
    result.method = backend.method;
    result.allocator = backend.traits;
    const bool single = backend.method == Method::single;
    if (backend.gpu && single) {
        result.kernels =
            find_registers(kernel_table(), backend.traits.name, report.machine.architecture);
    }
    kdtree::RunOptions run = report.run;
    const PoolSize pool = options.pool.value_or(PoolSize());
    if (single) {
        run.pool_bytes = options.pool ? pool.bytes_for(report.root_bytes)
                                      : default_pool_bytes(report.root_bytes, report.machine.memory,
                                                           backend.traits.smallest_pool);
    }
    result.pool_bytes = run.pool_bytes;
    const auto fail = [&result](Outcome how, const std::string& why) {
        result.outcome = how;
        result.message = why;
    };
    const auto pool_failed = [&](const std::string& why) {
        fail(Outcome::pool_exhausted,
             why + "; " +
                 pool_trial(backend, scene, options.config, run, pool, report.machine.memory));
    };
    const auto attempt = [&] {
        if (run.pool_bytes < backend.traits.smallest_pool) {
            pool_failed("a pool of " + bytes_text(run.pool_bytes) + " is below the " +
                        bytes_text(backend.traits.smallest_pool) + " that this allocator needs");
            return;
        }
        const kdtree::BuildResult built = backend.build(scene, options.config, run);
        if (built.status == kdtree::Status::pool_exhausted) {
            pool_failed(built.message);
        } else if (built.status != kdtree::Status::done) {
            fail(outcome(built.status), built.message);
        } else {
            record(options, scene, built, result);
            const std::string wrong = fault(options, scene, built, result);
            if (!wrong.empty()) {
                fail(Outcome::verification_failed, wrong);
            } else if (options.minimal_pool && single) {
                result.minimal_pool_bytes = minimal_pool(backend, scene, options.config, run);
            }
        }
    };
    try {
        attempt();
    } catch (const std::invalid_argument& error) {
        // Options and scene have been checked: what remains are limits of pool and tree.
        fail(Outcome::out_of_memory, error.what());
    } catch (const allocators::HeapError& error) {
        fail(Outcome::out_of_memory, error.what());
    } catch (const std::bad_alloc&) {
        fail(Outcome::out_of_memory, "the machine's memory ran out; try a smaller pool or scene");
    } catch (const std::exception& error) {
        fail(Outcome::failed, error.what());
    }
    result.pool_multiple =
        static_cast<double>(result.pool_bytes) / static_cast<double>(report.root_bytes);
    if (result.outcome != Outcome::done) {
        log::error(std::string(backend.traits.name) + ": " + result.message);
    }
    return result;
}

void print(const Report& report, const OutputOptions& output, Output* json) {
    if (json != nullptr) json->write(as_json(report));
    if (output.json == "-") return;
    if (output.csv) {
        write_to_stdout(as_csv(report));
    } else if (output.markdown) {
        write_to_stdout(as_markdown(report));
    } else {
        write_to_stdout(as_text(report, colour_allowed(STDOUT_FILENO)));
    }
}

/// The exit code of the worst that happened: a wrong tree before a build that did not end.
ExitCode verdict(const Report& report) {
    if (!trees_agree(report)) {
        log::error("THE TREES DIFFER: they must be equal bit for bit for every allocator");
        return ExitCode::verification_failed;
    }
    ExitCode code = ExitCode::done;
    for (const Result& result : report.results) {
        if (result.outcome == Outcome::verification_failed) return exit_code(result.outcome);
        if (code == ExitCode::done) code = exit_code(result.outcome);
    }
    return code;
}

}  // namespace

ExitCode build(const BuildOptions& options, const std::vector<const Backend*>& available) {
    check(options.config);
    Report report;
    report.arguments = options.arguments;
    report.date = now();
    report.machine = choose_machine(options.device);
    report.configuration = options.config;
    report.preset = options.preset;
    report.run = {.pool_bytes = 0,
                  .repeat = options.repeat,
                  .warm_up = options.warm_up,
                  .threads = options.threads,
                  .presplit = options.presplit,
                  .fallback = options.fallback,
                  .superblocks = options.superblocks,
                  .page_bytes = options.page_bytes,
                  .statistics = options.statistics,
                  .host_pool = nullptr,
                  .keep = options.host_pool};
    const auto has = [&](Method method) {
        return std::find(options.methods.begin(), options.methods.end(), method) !=
               options.methods.end();
    };
    std::vector<const Backend*> chosen;
    if (has(Method::single)) {
        chosen = choose_backends(available, options.allocators, report.machine.gpu);
    } else if (!options.allocator_options.empty()) {
        log::warning("the method levels has no allocator: no effect of " +
                     joined(options.allocator_options, ", "));
    }
    if (has(Method::levels)) chosen.push_back(&level_backend(report.machine.gpu));
    if (report.machine.gpu && options.threads > 0) {
        log::warning("--threads is for builds on the CPU and has no effect on a GPU");
    }
    std::optional<Output> json;
    if (!options.output.json.empty()) json.emplace(options.output.json);

    show_progress("loading " + options.scene);
    const scenes::Scene scene = scenes::load(options.scene);
    describe(report, scene);
    log::detail(options.scene + ": " + grouped(report.triangles) + " triangles, root array of " +
                bytes_text(report.root_bytes));
    allocators::HostPool host_pool(
        report.machine.gpu ? allocators::Place::device : allocators::Place::host,
        options.host_pool);
    report.run.host_pool = &host_pool;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        show_progress("building with " + std::string(chosen[i]->traits.name) + " (" +
                      std::to_string(i + 1) + " of " + std::to_string(chosen.size()) + ")");
        report.results.push_back(build_with(*chosen[i], options, scene, report));
    }
    report.run.host_pool = nullptr;
    print(report, options.output, json ? &*json : nullptr);
    return verdict(report);
}

}  // namespace heapwood::app
