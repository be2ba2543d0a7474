#include <exception>
#include <new>

#include "allocators/memory/buffer.h"
#include "app/base/console.h"
#include "app/base/exit_code.h"
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/inputs/trace_file.h"
#include "app/verbs/commands.h"
#include "kdtree/tree/tree_file.h"
#include "scenes/scene.h"

namespace heapwood::app {
namespace {

/// Where std::visit finds the function for each verb.
struct Run {
    const Backends& available;

    ExitCode operator()(const Exit& exit) const { return exit.code; }
    ExitCode operator()(const BuildOptions& options) const { return build(options, available); }
    ExitCode operator()(const CompareOptions& options) const { return compare(options, available); }
    ExitCode operator()(const BenchOptions& options) const { return bench(options, available); }
    ExitCode operator()(const ReplayOptions& options) const { return replay(options, available); }
    ExitCode operator()(const WorkerOptions& options) const { return worker(options, available); }
    ExitCode operator()(const TraceOptions& options) const { return trace(options, available); }
    ExitCode operator()(const RenderOptions& options) const { return render(options, available); }
    ExitCode operator()(const InspectOptions& options) const { return inspect(options, available); }
    ExitCode operator()(const ListOptions& options) const { return list(options, available); }
};

ExitCode fail(ExitCode code, const char* why) {
    log::error(why);
    return code;
}

}  // namespace

ExitCode run(int argc, const char* const* argv, const Backends& available) {
    guard_standard_streams();
    try {
        const CommandLine line = parse(argc, argv);
        log::set_up(line.verbosity);
        set_up_progress(line.verbosity >= 0);
        return std::visit(Run{available}, line.verb);
    } catch (const UsageError& error) {
        return fail(ExitCode::usage, error.what());
    } catch (const NoDevice& error) {
        return fail(ExitCode::no_device, error.what());
    } catch (const scenes::SceneTooLarge& error) {
        return fail(ExitCode::out_of_memory, error.what());
    } catch (const scenes::SceneError& error) {
        return fail(ExitCode::bad_input, error.what());
    } catch (const kdtree::TreeWriteError& error) {
        return fail(ExitCode::internal, error.what());
    } catch (const kdtree::TreeFileError& error) {
        return fail(ExitCode::bad_input, error.what());
    } catch (const InputError& error) {
        return fail(ExitCode::bad_input, error.what());
    } catch (const allocators::BufferError& error) {
        return fail(ExitCode::out_of_memory, error.what());
    } catch (const std::bad_alloc&) {
        return fail(ExitCode::out_of_memory, "the machine's memory ran out; try a smaller scene");
    } catch (const std::exception& error) {
        return fail(ExitCode::internal, error.what());
    }
}

}  // namespace heapwood::app
