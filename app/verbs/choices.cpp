#include "app/verbs/choices.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "allocators/platform/device.h"
#include "app/backends/allocator_options.h"
#include "app/base/log.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

template <class T, class U>
bool contains(const std::vector<T>& all, const U& one) {
    return std::ranges::find(all, one) != all.end();
}

/// The names of these.
std::vector<std::string> names_of(const std::vector<const Backend*>& backends) {
    std::vector<std::string> names;
    for (const Backend* backend : backends) names.emplace_back(backend->traits.name);
    return names;
}

/// What users may not expect of the chosen ones: `all` leaves out those that nobody has tested, and
/// a run of an allocator that cannot empty its pool begins with another one.
void tell_of(const std::vector<const Backend*>& chosen, const std::vector<const Backend*>& there,
             bool all) {
    const auto list = [](const std::vector<const Backend*>& of, const auto& chooses) {
        std::vector<const Backend*> these;
        std::ranges::copy_if(of, std::back_inserter(these), chooses);
        return joined(names_of(these), ", ");
    };
    const std::string untested = list(there, [&](const Backend* backend) {
        return all && !sound(*backend) && !contains(chosen, backend);
    });
    if (!untested.empty()) {
        log::note("all leaves out what is untested: " + untested + "; name it too, as -a all," +
                  untested.substr(0, untested.find(',')));
    }
    const std::string remade = list(chosen, [](const Backend* backend) { return backend->remade; });
    if (!remade.empty()) {
        log::note(remade + (remade.find(',') == remade.npos ? " has" : " have") +
                  " no reset(): each build and each iteration begins with a new pool, which is not "
                  "in the time of a build");
    }
}

/// The available backends with the allocators asked for on that machine, each once; "all" stands
/// for every one but the specimens and the untested. Warns of options that none of them has.
/// @throws UsageError for an unknown name.
std::vector<const Backend*> named_backends(const std::vector<const Backend*>& available,
                                           const RunParameters& parameters, bool gpu) {
    std::vector<const Backend*> there;
    std::vector<const Backend*> elsewhere;
    for (const Backend* backend : available) {
        (backend->gpu == gpu ? there : elsewhere).push_back(backend);
    }
    const std::vector<std::string> known = names_of(there);
    const bool all = contains(parameters.allocators, "all");
    std::vector<const Backend*> chosen;
    for (const std::string& name : parameters.allocators) {
        if (name != "all" && !contains(known, name)) {
            if (!gpu && contains(names_of(elsewhere), name)) {
                throw UsageError(only_for_gpus(name, platform::device_absence()));
            }
            throw UsageError(no_allocator(name, known, left_out_allocators(), built_by_pip()));
        }
        for (const Backend* backend : there) {
            const bool wanted =
                name == "all" ? sound(*backend).value_or(false) : backend->traits.name == name;
            if (wanted && !contains(chosen, backend)) chosen.push_back(backend);
        }
    }
    tell_of(chosen, there, all);
    warn_of_idle_options(chosen, parameters.allocator_options);
    return chosen;
}

void warn_of_threads(unsigned threads, bool gpu) {
    if (!gpu || threads == 0) return;
    log::warning("--threads is for builds on the CPU and has no effect on those of a GPU");
}

}  // namespace

Machine choose_machine(DeviceChoice choice) {
    if (choice == DeviceChoice::gpu) return gpu();
    if (choice == DeviceChoice::automatic) {
        const std::string absence = platform::device_absence();
        if (absence.empty()) return gpu();
        log::detail("building on the CPU: " + absence);
    }
    return cpu();
}

void check_devices(const std::vector<std::uint32_t>& devices) {
    if (devices.empty()) return;
    const auto count = static_cast<std::uint32_t>(platform::device_count());
    for (const std::uint32_t device : devices) {
        if (device < count) continue;
        throw NoDevice("--devices: no GPU " + std::to_string(device) + "; there " +
                       (count == 1 ? "is 1" : "are " + std::to_string(count)) + ", counted from 0");
    }
}

Report new_report(const BuildParameters& parameters) {
    return new_report(parameters, choose_machine(parameters.device));
}

Report new_report(const BuildParameters& parameters, const Machine& machine) {
    try {
        kdtree::validate(parameters.measure.config);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
    if (parameters.measure.run.heap_map && !parameters.measure.run.statistics) {
        throw UsageError("--heap-map needs the counting build that --no-statistics leaves out");
    }
    Report report;
    report.provenance = provenance_of(parameters.arguments, machine);
    report.options = parameters.measure;
    return report;
}

std::uint64_t pool_bytes(const std::optional<PoolSize>& chosen, const Report& report,
                         const Backend& backend) {
    if (backend.method != Method::single) return 0;
    return chosen ? chosen->bytes_for(report.root_bytes)
                  : default_pool_bytes(report.root_bytes, report.provenance.machine.memory,
                                       backend.traits.smallest_pool);
}

std::vector<const Backend*> growing(const std::vector<const Backend*>& chosen) {
    std::vector<const Backend*> result;
    for (const Backend* backend : chosen) {
        const auto& all = growing_backends();
        const auto found = std::ranges::find_if(all, [&](const Backend* one) {
            return one->gpu == backend->gpu &&
                   std::string_view(one->traits.name) == backend->traits.name;
        });
        if (backend->method != Method::single) {
            result.push_back(backend);
        } else if (found != all.end()) {
            result.push_back(*found);
        } else {
            std::vector<const Backend*> there;
            std::ranges::copy_if(all, std::back_inserter(there),
                                 [&](const Backend* one) { return one->gpu == backend->gpu; });
            const std::vector<std::string> known = names_of(there);
            throw UsageError("no pool of " + std::string(backend->traits.name) +
                             " grows while a build runs; " +
                             (known.empty() ? "none does in this program"
                                            : "choose one of " + joined(known, ", ")) +
                             ", or configure with -DHEAPWOOD_GROWING=\"" + joined(known, ";") +
                             (known.empty() ? "" : ";") + backend->traits.name + "\"");
        }
    }
    return result;
}

void choose_pool(const std::optional<PoolSize>& pool, const GrowthChoice& growth,
                 const Report& report, const Backend& backend, kdtree::RunConfig& run) {
    run.pool_bytes = pool_bytes(pool, report, backend);
    run.grow_to = 0;
    if (!growth.grows || backend.method != Method::single) return;
    if (report.options.minimal_pool) {
        throw UsageError("--minimal-pool looks for a pool that need not grow: leave out --grow");
    }
    const std::uint64_t standard = pool_bytes({}, report, backend);
    if (!pool) {
        run.pool_bytes = std::clamp(kFirstOfGrowing.bytes_for(report.root_bytes),
                                    backend.traits.smallest_pool, standard);
    }
    run.grow_to = std::max(growth.most ? growth.most->bytes_for(report.root_bytes) : standard,
                           run.pool_bytes);
    if (growth.most && run.grow_to == run.pool_bytes) {
        throw UsageError("a pool of " + bytes_text(run.pool_bytes) + " cannot grow to " +
                         growth.most->text() + ": choose a smaller pool, or a larger end, as " +
                         PoolSize{.bytes = run.pool_bytes}.doubled().text());
    }
}

std::vector<const Backend*> choose_backends(const std::vector<const Backend*>& available,
                                            const BuildParameters& parameters, bool gpu) {
    std::vector<const Backend*> chosen;
    if (contains(parameters.methods, Method::single)) {
        chosen = named_backends(available, parameters, gpu);
    } else if (!parameters.allocator_options.empty()) {
        log::warning("the method levels has no allocator: no effect of " +
                     joined(parameters.allocator_options, ", "));
    }
    if (contains(parameters.methods, Method::levels)) chosen.push_back(&level_backend(gpu));
    warn_of_threads(parameters.measure.run.threads, gpu);
    return chosen;
}

std::vector<Runner> choose_runners(const std::vector<const Backend*>& available,
                                   const WorkloadParameters& parameters, bool gpu) {
    std::vector<Runner> runners;
    for (const Backend* backend : named_backends(available, parameters, gpu)) {
        runners.push_back(runner_of(*backend));
    }
    warn_of_threads(parameters.run.threads, gpu);
    return runners;
}

std::string no_allocator(const std::string& name, const std::vector<std::string>& known,
                         const std::vector<std::string>& left_out, bool by_pip) {
    const std::string none = "no allocator '" + name + "'; there are " + joined(known, ", ");
    if (!contains(left_out, name)) return none + did_you_mean(name, known);
    if (by_pip) {
        return none +
               "; this package is compiled without it: in a clone of heapwood's repository, " +
               "HEAPWOOD_ALLOCATORS=all pip install . compiles all allocators";
    }
    return none + "; this program is compiled without it: configure with -DHEAPWOOD_ALLOCATORS=\"" +
           joined(known, ";") + ";" + name + "\", or empty for all";
}

std::string only_for_gpus(const std::string& name, const std::string& absence) {
    const std::string only = "the allocator '" + name + "' exists for GPUs only";
    return absence.empty() ? only + "; choose a GPU as the device"
                           : only + ", and there is no GPU to run on: " + absence;
}

std::vector<std::string> choose_tests(const std::vector<std::string>& asked) {
    std::vector<std::string> known;
    for (const TestName& test : test_names()) known.push_back(test.name);
    for (const std::string& name : asked) {
        if (name != "all" && !contains(known, name)) {
            throw UsageError("no test '" + name + "'; there are " + joined(known, ", ") + ", all" +
                             did_you_mean(name, known));
        }
    }
    std::vector<std::string> chosen;
    for (const std::string& name : known) {
        if (contains(asked, name) || contains(asked, "all")) chosen.push_back(name);
    }
    return chosen;
}

void require_one(const std::vector<const Backend*>& chosen, const BuildParameters& parameters,
                 const std::string& purpose) {
    if (chosen.size() == 1) return;
    // The level method comes last, and is no allocator.
    const bool methods = chosen.back()->method == Method::levels;
    throw UsageError((methods ? parameters.method_giver + " names both methods"
                              : parameters.allocator_giver + " names " +
                                    std::to_string(chosen.size()) + " allocators") +
                     ", and " + purpose + ": choose one, as " +
                     (methods ? std::string("--method single")
                              : "--allocator " + std::string(chosen.front()->traits.name)));
}

void check_trace(const std::vector<const Backend*>& chosen, const BuildParameters& parameters) {
    require_one(chosen, parameters, "--trace records one build, which replay replays with all");
    const Backend& backend = *chosen.front();
    if (backend.method == Method::levels) {
        throw UsageError(
            "--trace records what a build asks of an allocator, but the level method "
            "asks none; choose --method single");
    }
    if (backend.traits.full) return;
    throw UsageError("--trace records a build with a full allocator, but " +
                     std::string(backend.traits.name) +
                     " is not full; choose a full one, as --allocator hybrid");
}

}  // namespace heapwood::app
