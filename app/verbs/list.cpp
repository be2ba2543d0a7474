/// @file
/// The verb `list`.
#include <algorithm>

#include "allocators/platform/device.h"
#include "app/backends/allocator_options.h"
#include "app/backends/backend.h"
#include "app/base/machine.h"
#include "app/report/list_document.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"
#include "scenes/generators.h"

namespace heapwood::app {
namespace {

/// An allocator by one of its backends, which share its traits and options.
ListedAllocator listed(const Backend& backend, unsigned architecture) {
    const char* name = backend.traits.name;
    ListedAllocator allocator{.traits = backend.traits,
                              .machines = {},
                              .options = backend.options,
                              .registers = find_registers(kernel_table(), name, architecture)};
    if (find_backend(name, false) != nullptr) allocator.machines.emplace_back("cpu");
    if (find_backend(name, true) != nullptr) allocator.machines.emplace_back("gpu");
    return allocator;
}

Listing listing() {
    Listing all{.allocators = {},
                .options = offered_options(),
                .generators = scenes::generators(),
                .machines = {cpu()},
                .no_gpu = ""};
    unsigned architecture = 0;
    if (platform::device_available()) {
        all.machines.push_back(gpu());
        architecture = all.machines.back().architecture;
    } else {
        all.no_gpu = platform::device_absence();
    }
    for (const Backend* backend : backends()) {
        const std::string_view name = backend->traits.name;
        const bool seen =
            std::any_of(all.allocators.begin(), all.allocators.end(),
                        [name](const auto& other) { return other.traits.name == name; });
        if (!seen) all.allocators.push_back(listed(*backend, architecture));
    }
    return all;
}

}  // namespace

ExitCode list(const ListOptions& options) {
    Publisher publisher(options.output);
    return publisher.publish(document_of(listing())) ? ExitCode::done : ExitCode::internal;
}

}  // namespace heapwood::app
