#include "allocators/parts/options.h"
#include "app/base/text.h"
#include "app/measure/builds/build_parts.h"
#include "app/report/documents.h"
#include "app/verbs/listing.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/list.schema.json; a reader may rely on it.
constexpr int kListSchema = 1;

Json kernel_json(const std::optional<KernelFigures>& kernel) {
    if (!kernel) return {};
    return {{"registers", kernel->registers},
            {"stack_bytes", kernel->stack_bytes},
            {"spill_store_bytes", kernel->spill_store_bytes},
            {"spill_load_bytes", kernel->spill_load_bytes}};
}

Json registers_json(const ListedAllocator& allocator) {
    if (!allocator.registers) return {};
    const Registers& registers = *allocator.registers;
    return {{"architecture", "sm_" + std::to_string(registers.architecture)},
            {"uncoalesced", kernel_json(registers.uncoalesced)},
            {"coalesced", kernel_json(registers.coalesced)},
            {"build", kernel_json(registers.build)}};
}

Json published_json(const ListedAllocator& allocator) {
    const auto known = [](unsigned registers) { return registers == 0 ? Json() : Json(registers); };
    const allocators::PublishedRegisters& published = allocator.traits.published_registers;
    return {{"uncoalesced", known(published.uncoalesced)},
            {"coalesced", known(published.coalesced)}};
}

Json options_json(const ListedAllocator& allocator) {
    return array_of(allocator.options, [](const allocators::Option& option) -> Json {
        return {{"key", option.key},
                {"option", option.flag},
                {"values", values_of(option)},
                {"help", option.help}};
    });
}

Json allocator_json(const ListedAllocator& allocator) {
    const allocators::Traits& t = allocator.traits;
    return {{"name", t.name},
            {"title", t.title},
            {"source", t.source},
            {"frees_individually", t.frees_individually},
            {"full", t.full},
            {"walkable", t.walkable},
            {"sound", t.sound},
            {"header_bytes", t.header_bytes},
            {"smallest_pool_bytes", t.smallest_pool},
            {"devices", allocator.machines},
            {"options", options_json(allocator)},
            {"registers", registers_json(allocator)},
            {"published_registers", published_json(allocator)}};
}

/// The columns of CSV.
constexpr const char* kListColumns[] = {
    "name",  "title",        "frees_individually",  "full",    "walkable",
    "sound", "header_bytes", "smallest_pool_bytes", "devices", "source"};

Json devices_json(const Listing& listing) {
    return array_of(listing.machines, [](const Machine& m) -> Json {
        return {{"device", m.gpu ? "gpu" : "cpu"},
                {"name", m.name},
                {"units", m.units},
                {"driver", or_null(m.driver)},
                {"runtime", or_null(m.runtime)},
                {"memory_bytes", m.memory}};
    });
}

}  // namespace

Document document_of(const Listing& listing) {
    Table allocators{.title = "Allocators",
                     .columns = {{"name"},
                                 {"title"},
                                 {"frees"},
                                 {"full"},
                                 {"sound"},
                                 {"header B", true},
                                 {"smallest pool", true},
                                 {"built for"}}};
    Table sources{.title = "Sources", .columns = {{"name"}, {"source"}}};
    Table registers = registers_table();
    for (const ListedAllocator& allocator : listing.allocators) {
        const allocators::Traits& t = allocator.traits;
        allocators.rows.push_back(
            {t.name, starred(t.title, t.full), shown(t.frees_individually, {}), shown(t.full, {}),
             shown(t.sound, {}), shown(t.header_bytes, Unit::count),
             shown(t.smallest_pool, Unit::bytes), joined(allocator.machines, ",")});
        sources.rows.push_back({t.name, t.source});
        registers.rows.push_back(registers_row(t.name, t, allocator.registers));
    }
    Table options{.title = "Options of allocators",
                  .columns = {{"option"}, {"values, the default first"}, {"what it decides"}}};
    for (const allocators::Option& option : listing.options) {
        options.rows.push_back({option.flag, joined(values_of(option), ", "), option.help});
    }
    Table generators{.title = "Generators (gen:NAME:TRIANGLES[:SEED])",
                     .columns = {{"name"}, {"description"}}};
    Json generators_json = Json::array();
    for (const scenes::GeneratorInfo& g : listing.generators) {
        generators.rows.push_back({std::string(g.name), std::string(g.description)});
        generators_json.push_back({{"name", g.name}, {"description", g.description}});
    }
    Table devices{.title = "Devices", .columns = {{"device"}, {"description"}}};
    for (const Machine& m : listing.machines) {
        devices.rows.push_back({m.gpu ? "gpu" : "cpu", m.text()});
    }
    if (!listing.no_gpu.empty()) devices.rows.push_back({"gpu", "none: " + listing.no_gpu});
    Document document{.title = "heapwood list",
                      .tables = {allocators, sources, options, registers, generators, devices},
                      .remarks = {{kAsteriskRemark}}};
    const Json all = array_of(listing.allocators, allocator_json);
    for (const Json& allocator : all) {
        Record record;
        for (const char* key : kListColumns) record.emplace_back(key, allocator.at(key));
        add_record(document.records, record);
    }
    document.data = {{"schema", kListSchema},
                     {"allocators", all},
                     {"generators", generators_json},
                     {"devices", devices_json(listing)}};
    return document;
}

}  // namespace heapwood::app
