#include "app/verbs/choices.h"

#include <algorithm>
#include <stdexcept>

#include "allocators/platform/device.h"
#include "app/backends/allocator_options.h"
#include "app/base/log.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// The available backends of these names on that machine, each once; "all" stands for every one but
/// the specimens.
/// @throws UsageError for an unknown name.
std::vector<const Backend*> named_backends(const std::vector<const Backend*>& available,
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
    const auto index = [&](const std::string& name) {
        const auto found = std::find(known.begin(), known.end(), name);
        if (found == known.end()) {
            throw UsageError("no allocator '" + name + "'; there are " + joined(known, ", ") +
                             did_you_mean(name, known));
        }
        return static_cast<std::size_t>(found - known.begin());
    };
    for (const std::string& name : names) {
        if (name != "all") index(name);
    }
    for (const std::string& name : all ? sound : names) {
        const Backend* backend = there[index(name)];
        if (std::find(chosen.begin(), chosen.end(), backend) == chosen.end()) {
            chosen.push_back(backend);
        }
    }
    return chosen;
}

}  // namespace

void check(const kdtree::BuildConfig& config) {
    try {
        kdtree::validate(config);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
}

Machine choose_machine(DeviceChoice choice) {
    if (choice == DeviceChoice::gpu) return gpu();
    if (choice == DeviceChoice::automatic) {
        if (platform::device_available()) return gpu();
        log::detail("building on the CPU: " + platform::device_absence());
    }
    return cpu();
}

Report new_report(const BuildParameters& parameters) {
    Report report;
    report.arguments = parameters.arguments;
    report.date = now();
    report.machine = choose_machine(parameters.device);
    report.configuration = parameters.config;
    report.preset = parameters.preset;
    report.run.threads = parameters.threads;
    report.run.choices = parameters.choices;
    report.run.repeat = parameters.repeat;
    report.run.warm_up = parameters.warm_up;
    report.run.statistics = parameters.statistics;
    report.run.keep = parameters.array_pool;
    return report;
}

std::uint64_t pool_bytes(const std::optional<PoolSize>& chosen, const Report& report,
                         const Backend& backend) {
    return chosen ? chosen->bytes_for(report.root_bytes)
                  : default_pool_bytes(report.root_bytes, report.machine.memory,
                                       backend.traits.smallest_pool);
}

std::vector<const Backend*> choose_backends(const std::vector<const Backend*>& available,
                                            const BuildParameters& parameters, bool gpu) {
    const auto has = [&](Method method) {
        return std::find(parameters.methods.begin(), parameters.methods.end(), method) !=
               parameters.methods.end();
    };
    std::vector<const Backend*> chosen;
    if (has(Method::single)) {
        chosen = named_backends(available, parameters.allocators, gpu);
        warn_of_idle_options(chosen, parameters.allocator_options);
    } else if (!parameters.allocator_options.empty()) {
        log::warning("the method levels has no allocator: no effect of " +
                     joined(parameters.allocator_options, ", "));
    }
    if (has(Method::levels)) chosen.push_back(&level_backend(gpu));
    if (gpu && parameters.threads > 0) {
        log::warning("--threads is for builds on the CPU and has no effect on a GPU");
    }
    return chosen;
}

std::vector<Runner> choose_runners(const std::vector<const Backend*>& available,
                                   const std::vector<std::string>& names,
                                   const std::vector<std::string>& options, unsigned threads,
                                   bool gpu) {
    BuildParameters parameters;
    parameters.allocators = names;
    parameters.allocator_options = options;
    parameters.threads = threads;
    std::vector<Runner> runners;
    for (const Backend* backend : choose_backends(available, parameters, gpu)) {
        runners.push_back(runner_of(*backend));
    }
    return runners;
}

std::vector<std::string> choose_tests(const std::vector<std::string>& asked) {
    std::vector<std::string> known;
    for (const TestName& test : test_names()) known.push_back(test.name);
    for (const std::string& name : asked) {
        if (name != "all" && std::find(known.begin(), known.end(), name) == known.end()) {
            throw UsageError("no test '" + name + "'; there are " + joined(known, ", ") + ", all" +
                             did_you_mean(name, known));
        }
    }
    const auto wanted = [&](const std::string& name) {
        return std::find(asked.begin(), asked.end(), name) != asked.end();
    };
    std::vector<std::string> chosen;
    for (const std::string& name : known) {
        if (wanted(name) || wanted("all")) chosen.push_back(name);
    }
    return chosen;
}

void check_trace(const std::vector<const Backend*>& chosen) {
    const Backend& backend = *chosen.front();
    if (chosen.size() == 1 && backend.method == Method::single && backend.traits.full) return;
    throw UsageError("--trace records one build with one full allocator, but " +
                     (chosen.size() > 1 ? std::to_string(chosen.size()) + " were chosen"
                                        : std::string(backend.traits.name) + " is none") +
                     "; choose one, as --allocator hybrid; 'heapwood replay' replays it with all");
}

}  // namespace heapwood::app
