/// @file
/// The verb `list`.
#include <algorithm>
#include <map>
#include <string>

#include "allocators/platform/device.h"
#include "app/backends/allocator_options.h"
#include "app/backends/backend.h"
#include "app/base/machine.h"
#include "app/base/output.h"
#include "app/cli/options.h"
#include "app/measure/builds/result_json.h"
#include "app/report/documents.h"
#include "app/verbs/commands.h"
#include "app/verbs/listing.h"
#include "app/verbs/publish.h"
#include "scenes/generators.h"

namespace heapwood::app {
namespace {

Listing listing(const Backends& available) {
    Listing all{.allocators = {},
                .options = offered_options(),
                .generators = scenes::generators(),
                .machines = {cpu()},
                .no_gpu = platform::device_absence()};
    unsigned architecture = 0;
    if (all.no_gpu.empty()) {
        all.machines.push_back(gpu());
        architecture = all.machines.back().architecture;
    }
    // A backend for each machine; the CPU's come first.
    for (const Backend* backend : available) {
        const std::string_view name = backend->traits.name;
        const auto seen = std::ranges::find_if(
            all.allocators,
            [name](const ListedAllocator& other) { return other.traits.name == name; });
        ListedAllocator& allocator =
            seen != all.allocators.end()
                ? *seen
                : all.allocators.emplace_back(ListedAllocator{
                      .traits = backend->traits,
                      .machines = {},
                      .options = backend->options,
                      .registers = find_registers(kernel_table(), name, architecture),
                      .sound = sound(*backend),
                      .remade = backend->remade});
        allocator.machines.emplace_back(backend->gpu ? "gpu" : "cpu");
    }
    return all;
}

/// @throws UsageError for an unknown name.
Json schema_named(const std::string& name) {
    static const std::map<std::string, Json (*)()> kMake{
        {"build", build_schema},   {"forest", forest_schema},   {"compare", comparison_schema},
        {"bench", bench_schema},   {"replay", replay_schema},   {"trace", trace_schema},
        {"render", render_schema}, {"inspect", inspect_schema}, {"list", list_schema}};
    return named(kMake, name)();
}

}  // namespace

ExitCode list(const ListOptions& options, const Backends& available) {
    if (!options.schema.empty()) {
        write_to_stdout(json_text(schema_named(options.schema)));
        return ExitCode::done;
    }
    Publisher publisher(options);
    return publisher.publish(document_of(listing(available))) ? ExitCode::done : ExitCode::internal;
}

}  // namespace heapwood::app
