/// @file
/// The verb `list`.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "allocators/platform/device.h"
#include "app/backends/allocator_options.h"
#include "app/backends/backend.h"
#include "app/base/console.h"
#include "app/base/machine.h"
#include "app/base/output.h"
#include "app/base/text.h"
#include "app/report/register_table.h"
#include "app/report/sections.h"
#include "app/report/table.h"
#include "app/verbs/commands.h"
#include "scenes/generators.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

/// The allocators' traits, each name once: all backends of an allocator share them.
std::vector<allocators::Traits> all_traits() {
    std::vector<allocators::Traits> all;
    for (const Backend* backend : backends()) {
        const std::string_view name = backend->traits.name;
        const bool seen = std::any_of(all.begin(), all.end(),
                                      [name](const auto& traits) { return traits.name == name; });
        if (!seen) all.push_back(backend->traits);
    }
    return all;
}

/// "cpu", "gpu": for which machines the allocator's builder is compiled in.
std::vector<std::string> machines_of(const char* allocator) {
    std::vector<std::string> machines;
    if (find_backend(allocator, false) != nullptr) machines.emplace_back("cpu");
    if (find_backend(allocator, true) != nullptr) machines.emplace_back("gpu");
    return machines;
}

/// The CPU, and the GPU if there is one.
std::vector<Machine> machines() {
    std::vector<Machine> all{cpu()};
    if (platform::device_available()) all.push_back(gpu());
    return all;
}

/// What the compiler said of the allocator's kernels, for the GPU that is there if there is one.
std::optional<Registers> registers_of(const char* allocator) {
    static const unsigned device = platform::device_available() ? gpu().architecture : 0;
    return find_registers(kernel_table(), allocator, device);
}

/// The allocator's own options, whichever machine it is compiled for.
Json options_json(const char* allocator) {
    Json options = Json::array();
    const Backend* backend = find_backend(allocator, false);
    if (backend == nullptr) backend = find_backend(allocator, true);
    for (const allocators::Option& option : backend->options) {
        options.push_back({{"key", option.key},
                           {"option", option.flag},
                           {"values", values_of(option)},
                           {"help", option.help}});
    }
    return options;
}

Json registers_json(const char* allocator) {
    const std::optional<Registers> registers = registers_of(allocator);
    if (!registers) return {};
    return {{"architecture", "sm_" + std::to_string(registers->architecture)},
            {"uncoalesced", kernel_json(registers->uncoalesced)},
            {"coalesced", kernel_json(registers->coalesced)},
            {"build", kernel_json(registers->build)}};
}

std::string yes(bool value) {
    return value ? "yes" : "no";
}

std::vector<Table> tables() {
    Table allocators{.title = "Allocators",
                     .columns = {{"name"},
                                 {"title"},
                                 {"frees"},
                                 {"full"},
                                 {"sound"},
                                 {"header B", true},
                                 {"smallest pool", true},
                                 {"built for"},
                                 {"source"}},
                     .rows = {}};
    for (const allocators::Traits& t : all_traits()) {
        allocators.rows.push_back({t.name, t.title + std::string(t.full ? "" : "*"),
                                   yes(t.frees_individually), yes(t.full), yes(t.sound),
                                   std::to_string(t.header_bytes), bytes_text(t.smallest_pool),
                                   joined(machines_of(t.name), ","), t.source});
    }
    Table options{.title = "Options of allocators",
                  .columns = {{"option"}, {"values, the default first"}, {"what it decides"}},
                  .rows = {}};
    for (const allocators::Option& option : offered_options()) {
        options.rows.push_back(
            {option.flag, joined(values_of(option), ", "), std::string(option.help)});
    }
    Table registers = registers_table();
    for (const allocators::Traits& t : all_traits()) {
        registers.rows.push_back(registers_row(t.name, t, registers_of(t.name)));
    }
    Table generators{.title = "Generators (gen:NAME:TRIANGLES[:SEED])",
                     .columns = {{"name"}, {"description"}},
                     .rows = {}};
    for (const scenes::GeneratorInfo& g : scenes::generators()) {
        generators.rows.push_back({std::string(g.name), std::string(g.description)});
    }
    Table devices{.title = "Devices", .columns = {{"device"}, {"description"}}, .rows = {}};
    for (const Machine& m : machines()) devices.rows.push_back({m.gpu ? "gpu" : "cpu", m.text()});
    if (!platform::device_available()) {
        devices.rows.push_back({"gpu", "none: " + platform::device_absence()});
    }
    return {allocators, options, registers, generators, devices};
}

std::string as_json() {
    Json allocators = Json::array();
    for (const allocators::Traits& t : all_traits()) {
        allocators.push_back({{"name", t.name},
                              {"title", t.title},
                              {"source", t.source},
                              {"frees_individually", t.frees_individually},
                              {"full", t.full},
                              {"walkable", t.walkable},
                              {"sound", t.sound},
                              {"header_bytes", t.header_bytes},
                              {"smallest_pool_bytes", t.smallest_pool},
                              {"devices", machines_of(t.name)},
                              {"options", options_json(t.name)},
                              {"registers", registers_json(t.name)},
                              {"published_registers", published_registers_json(t)}});
    }
    Json generators = Json::array();
    for (const scenes::GeneratorInfo& g : scenes::generators()) {
        generators.push_back({{"name", g.name}, {"description", g.description}});
    }
    Json devices = Json::array();
    for (const Machine& m : machines()) {
        devices.push_back({{"device", m.gpu ? "gpu" : "cpu"},
                           {"name", m.name},
                           {"units", m.units},
                           {"driver", m.gpu ? Json(m.driver) : Json()},
                           {"runtime", m.gpu ? Json(m.runtime) : Json()},
                           {"memory_bytes", m.memory}});
    }
    const Json json{{"schema", kSchema},
                    {"allocators", allocators},
                    {"generators", generators},
                    {"devices", devices}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

ExitCode list(const ListOptions& options) {
    if (!options.output.json.empty()) {
        Output(options.output.json).write(as_json());
        if (options.output.json == "-") return ExitCode::done;
    }
    const std::vector<Table> all = tables();
    std::string text;
    for (const Table& table : all) {
        if (options.output.csv) {
            // One table a file: the allocators, which are what a program asks for.
            text = as_csv(all.front());
            break;
        }
        text += (options.output.markdown ? as_markdown(table)
                                         : as_text(table, colour_allowed(STDOUT_FILENO))) +
                "\n";
    }
    if (!options.output.csv) {
        // Unescaped, Markdown would take the asterisk for an item of a list.
        text += (options.output.markdown ? "\\" : "") + std::string(kAsteriskRemark) + "\n";
    }
    write_to_stdout(text);
    return ExitCode::done;
}

}  // namespace heapwood::app
