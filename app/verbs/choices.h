/// @file
/// What users leave open, decided: the machine, and which builders run on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/backends/backend.h"
#include "app/base/machine.h"
#include "app/cli/cli.h"
#include "app/measure/builds/report.h"
#include "app/measure/workloads/bench_report.h"

namespace heapwood::app {

/// The machine that the user's choice comes down to. @throws NoDevice.
Machine choose_machine(DeviceChoice choice);

/// @throws NoDevice that names the GPU of --devices which is not there.
void check_devices(const std::vector<std::uint32_t>& devices);

/// A report of nothing as yet: what was asked for, of which machine, and when. @throws NoDevice,
/// and UsageError for parameters that are no configuration of the builder.
Report new_report(const BuildParameters& parameters);
/// The same of a machine that need not be this one.
Report new_report(const BuildParameters& parameters, const Machine& machine);

/// The pool that a scene's build gets, of the size chosen or of the default; 0 for the level
/// method.
/// @throws UsageError if no machine has one as large.
std::uint64_t pool_bytes(const std::optional<PoolSize>& chosen, const Report& report,
                         const Backend& backend);

/// In the place of each of these backends the one whose pool grows while a build runs; the level
/// method has no pool. @throws UsageError, which names those that there are, if one is lacking.
std::vector<const Backend*> growing(const std::vector<const Backend*>& chosen);

/// Says how large a scene's pool is and, of one of growing_backends(), becomes.
/// @param pool the size chosen; nothing: the default
/// @throws UsageError if no machine has one as large, if the chosen end is not above the pool, or
/// if a pool that grows is to be the smallest one, too.
void choose_pool(const std::optional<PoolSize>& pool, const GrowthChoice& growth,
                 const Report& report, const Backend& backend, kdtree::RunConfig& run);

/// The tests that were asked for, each once, in the order of test_names(). @throws UsageError for
/// an unknown name.
std::vector<std::string> choose_tests(const std::vector<std::string>& asked);

/// Those of the available backends on that machine that were asked for, each once, "all" being
/// every one but the specimens and the untested; then the level method, if it was. Warns of options
/// without effect. @throws UsageError for an unknown name.
std::vector<const Backend*> choose_backends(const std::vector<const Backend*>& available,
                                            const BuildParameters& parameters, bool gpu);

/// The same, of the single kernel's backends, as the runners of bench and replay.
std::vector<Runner> choose_runners(const std::vector<const Backend*>& available,
                                   const WorkloadParameters& parameters, bool gpu);

/// That there is no allocator `name`, and what to do: to choose one of the `known`, or to compile
/// it into the program if it is one of those `left_out`: `by_pip` in a Python package.
std::string no_allocator(const std::string& name, const std::vector<std::string>& known,
                         const std::vector<std::string>& left_out, bool by_pip);

/// That there is an allocator `name`, but not on a CPU. @param absence why there is no GPU; empty:
/// there is one
std::string only_for_gpus(const std::string& name, const std::string& absence);

/// @throws UsageError unless one was chosen: the sentence names the option or variable that chose
/// more. @param purpose what the verb needs one for, as "render needs one tree"
void require_one(const std::vector<const Backend*>& chosen, const BuildParameters& parameters,
                 const std::string& purpose);

/// @throws UsageError unless these can record a trace: one full allocator, for a trace has frees,
/// and one build.
void check_trace(const std::vector<const Backend*>& chosen, const BuildParameters& parameters);

}  // namespace heapwood::app
