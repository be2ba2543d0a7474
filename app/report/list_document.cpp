#include "app/report/list_document.h"

#include "allocators/parts/options.h"
#include "app/base/text.h"
#include "app/report/cells.h"
#include "app/report/register_table.h"

namespace heapwood::app {
namespace {

constexpr int kListSchema = 1;

/// {"registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes"}, or null if unknown.
Json kernel_json(const std::optional<KernelFigures>& kernel) {
    if (!kernel) return {};
    return {{"registers", kernel->registers},
            {"stack_bytes", kernel->stack_bytes},
            {"spill_store_bytes", kernel->spill_store_bytes},
            {"spill_load_bytes", kernel->spill_load_bytes}};
}

Json registers_json(const std::optional<Registers>& registers) {
    if (!registers) return {};
    return {{"architecture", "sm_" + std::to_string(registers->architecture)},
            {"uncoalesced", kernel_json(registers->uncoalesced)},
            {"coalesced", kernel_json(registers->coalesced)},
            {"build", kernel_json(registers->build)}};
}

Json published_json(const allocators::PublishedRegisters& published) {
    const auto known = [](unsigned registers) { return registers == 0 ? Json() : Json(registers); };
    return {{"uncoalesced", known(published.uncoalesced)},
            {"coalesced", known(published.coalesced)}};
}

Json options_json(std::span<const allocators::Option> options) {
    Json all = Json::array();
    for (const allocators::Option& option : options) {
        all.push_back({{"key", option.key},
                       {"option", option.flag},
                       {"values", values_of(option)},
                       {"help", option.help}});
    }
    return all;
}

Json allocators_json(const Listing& listing) {
    Json all = Json::array();
    for (const ListedAllocator& allocator : listing.allocators) {
        const allocators::Traits& t = allocator.traits;
        all.push_back({{"name", t.name},
                       {"title", t.title},
                       {"source", t.source},
                       {"frees_individually", t.frees_individually},
                       {"full", t.full},
                       {"walkable", t.walkable},
                       {"sound", t.sound},
                       {"header_bytes", t.header_bytes},
                       {"smallest_pool_bytes", t.smallest_pool},
                       {"devices", allocator.machines},
                       {"options", options_json(allocator.options)},
                       {"registers", registers_json(allocator.registers)},
                       {"published_registers", published_json(t.published_registers)}});
    }
    return all;
}

Json devices_json(const Listing& listing) {
    Json all = Json::array();
    for (const Machine& m : listing.machines) {
        all.push_back({{"device", m.gpu ? "gpu" : "cpu"},
                       {"name", m.name},
                       {"units", m.units},
                       {"driver", m.gpu ? Json(m.driver) : Json()},
                       {"runtime", m.gpu ? Json(m.runtime) : Json()},
                       {"memory_bytes", m.memory}});
    }
    return all;
}

Json data(const Listing& listing) {
    Json generators = Json::array();
    for (const scenes::GeneratorInfo& g : listing.generators) {
        generators.push_back({{"name", g.name}, {"description", g.description}});
    }
    return {{"schema", kListSchema},
            {"allocators", allocators_json(listing)},
            {"generators", generators},
            {"devices", devices_json(listing)}};
}

std::vector<Table> tables(const Listing& listing) {
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
        options.rows.push_back(
            {option.flag, joined(values_of(option), ", "), std::string(option.help)});
    }
    Table generators{.title = "Generators (gen:NAME:TRIANGLES[:SEED])",
                     .columns = {{"name"}, {"description"}}};
    for (const scenes::GeneratorInfo& g : listing.generators) {
        generators.rows.push_back({std::string(g.name), std::string(g.description)});
    }
    Table devices{.title = "Devices", .columns = {{"device"}, {"description"}}};
    for (const Machine& m : listing.machines) {
        devices.rows.push_back({m.gpu ? "gpu" : "cpu", m.text()});
    }
    if (!listing.no_gpu.empty()) devices.rows.push_back({"gpu", "none: " + listing.no_gpu});
    return {allocators, sources, options, registers, generators, devices};
}

}  // namespace

Document document_of(const Listing& listing) {
    Document document{.title = "heapwood list",
                      .tables = tables(listing),
                      .remarks = {{kAsteriskRemark}},
                      .data = data(listing)};
    for (const ListedAllocator& allocator : listing.allocators) {
        const allocators::Traits& t = allocator.traits;
        add_record(document.records, {{"name", t.name},
                                      {"title", t.title},
                                      {"frees_individually", t.frees_individually},
                                      {"full", t.full},
                                      {"walkable", t.walkable},
                                      {"sound", t.sound},
                                      {"header_bytes", t.header_bytes},
                                      {"smallest_pool_bytes", t.smallest_pool},
                                      {"devices", allocator.machines},
                                      {"source", t.source}});
    }
    return document;
}

}  // namespace heapwood::app
