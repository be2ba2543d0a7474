/// @file
/// The verb `build` in parts.
#include "allocators/platform/threads.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/base/peak.h"
#include "app/base/text.h"
#include "app/distributed/forest_build.h"
#include "app/measure/engine/interrupts.h"
#include "app/measure/engine/plan.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"
#include "app/verbs/shared_input.h"
#include "kdtree/tree/tree_file.h"
#include "kdtree/tree/tree_writer.h"

namespace heapwood::app {
namespace {

/// @throws UsageError for what a build in parts cannot do; warns of what has no effect.
void check_choices(const BuildOptions& options) {
    if (options.out.empty()) {
        throw UsageError("a tree that is built in parts goes to a file: name it by --out FILE");
    }
    const auto refuse = [](const char* option) {
        throw UsageError(std::string(option) + " needs the tree in memory, as a whole: leave out " +
                         option + ", or build without --memory and --parts");
    };
    if (options.memory && options.parts > 0) {
        throw UsageError(
            "--memory is of a build by one process, and --parts of one by many: give one");
    }
    if (options.measure.verify) refuse("--verify");
    if (!options.trace.empty()) refuse("--trace");
    if (!options.whole_options.empty()) {
        log::warning("the build is in parts, by the level method, once: no effect of " +
                     joined(options.whole_options, ", "));
    }
}

/// @throws UsageError if the file cannot be written.
kdtree::TreeWriter writer_of(const std::string& path) {
    const Output checked(path);
    try {
        return kdtree::TreeWriter(path);
    } catch (const kdtree::TreeWriteError& error) {
        throw UsageError(error.what());
    }
}

}  // namespace

ExitCode build_in_parts(const BuildOptions& options) {
    check_choices(options);
    ForestReport report{.origin = new_report(options), .built = {}, .out = options.out};
    check_devices(options.devices);
    Publisher publisher(options);
    if (options.parts > 0) check_shared_scene(options.scene);
    kdtree::TreeWriter writer = writer_of(options.out);
    const unsigned threads = platform::thread_count(options.measure.run.threads);

    const Interrupts interrupts;
    show_progress("loading " + options.scene);
    try {
        if (options.parts > 0) {
            build_by_processes(options, interrupts, writer, report);
        } else {
            build_here(options, threads, interrupts, writer, report);
        }
    } catch (const Interrupted&) {
        log::error("interrupted; what " + options.out + " had before it has still");
        return static_cast<ExitCode>(128 + interrupts.signal());
    }
    report.peak = peak_bytes();
    return publisher.publish(document_of(report)) ? ExitCode::done : ExitCode::internal;
}

}  // namespace heapwood::app
