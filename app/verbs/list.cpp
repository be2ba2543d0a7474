/// @file
/// The verb `list`.
#include <algorithm>

#include "allocators/platform/device.h"
#include "app/backends/allocator_options.h"
#include "app/backends/backend.h"
#include "app/base/machine.h"
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
                      .registers = find_registers(kernel_table(), name, architecture)});
        allocator.machines.emplace_back(backend->gpu ? "gpu" : "cpu");
    }
    return all;
}

}  // namespace

ExitCode list(const ListOptions& options, const Backends& available) {
    Publisher publisher(options);
    return publisher.publish(document_of(listing(available))) ? ExitCode::done : ExitCode::internal;
}

}  // namespace heapwood::app
