#include "allocators/options.h"
#include "app/base/text.h"
#include "app/measure/builds/build_parts.h"
#include "app/report/documents.h"
#include "app/verbs/listing.h"

namespace heapwood::app {
namespace {

Shape<KernelFigures> kernel_shape() {
    using Of = KernelFigures;
    Shape<Of> shape;
    shape
        .field(
            "registers", [](const Of& k) { return k.registers; }, "", at_least(1))
        .field("stack_bytes", [](const Of& k) { return k.stack_bytes; })
        .field("spill_store_bytes", [](const Of& k) { return k.spill_store_bytes; })
        .field("spill_load_bytes", [](const Of& k) { return k.spill_load_bytes; });
    return shape;
}

Shape<Registers> registers_shape() {
    using Of = Registers;
    const Shape<KernelFigures> kernel = kernel_shape();
    const char* const call = "one allocation and one deallocation, by the compiler, per thread";
    Shape<Of> shape;
    shape
        .field("architecture", [](const Of& r) { return architecture_name(r.architecture); }, "",
               {{"pattern", kArchitecturePattern}})
        .object(
            "uncoalesced", kernel, [](const Of& r) { return r.uncoalesced; }, call)
        .object(
            "coalesced", kernel, [](const Of& r) { return r.coalesced; }, call)
        .object(
            "build", kernel, [](const Of& r) { return r.build; }, "the builder's kernel");
    return shape;
}

Shape<allocators::PublishedRegisters> published_shape() {
    using Of = allocators::PublishedRegisters;
    const auto known = [](auto member) {
        return
            [=](const Of& p) { return p.*member == 0 ? std::nullopt : std::optional(p.*member); };
    };
    Shape<Of> shape;
    shape.field("uncoalesced", known(&Of::uncoalesced), "", at_least(1))
        .field("coalesced", known(&Of::coalesced), "", at_least(1));
    return shape;
}

Shape<allocators::Option> option_shape() {
    using Of = allocators::Option;
    Shape<Of> shape;
    shape
        .field(
            "key", [](const Of& o) { return o.key; },
            "in the objects \"forms\" of the other reports")
        .field(
            "option", [](const Of& o) { return o.flag; }, "on the command line")
        .field("values", [](const Of& o) { return values_of(o); }, "the default first",
               {{"minItems", 2}})
        .field("help", [](const Of& o) { return o.help; });
    return shape;
}

const Shape<ListedAllocator>& allocator_shape() {
    static const Shape<ListedAllocator> shape = [] {
        using Of = ListedAllocator;
        const auto trait = [](auto member) {
            return [=](const Of& a) { return a.traits.*member; };
        };
        using allocators::Traits;
        Shape<Of> all;
        all.field("name", trait(&Traits::name), "on the command line")
            .field("title", trait(&Traits::title), "as its paper calls it")
            .field("source", trait(&Traits::source))
            .field("frees_individually", trait(&Traits::frees_individually),
                   "whether a block's memory returns before the whole pool's")
            .field("full", trait(&Traits::full),
                   "whether it returns block by block, in any order; the others carry an asterisk")
            .field("walkable", trait(&Traits::walkable), "whether the blocks in use can be counted")
            .field(
                "sound", [](const Of& a) { return a.sound; },
                "false: a specimen, known to hand out memory in use; null: untested")
            .field(
                "remade", [](const Of& a) { return a.remade; },
                "whether it has no reset(), so that each run begins with a new pool")
            .field("header_bytes", trait(&Traits::header_bytes),
                   "of a block, in the pool; null: unknown")
            .field("smallest_pool_bytes", trait(&Traits::smallest_pool), "what it needs at least")
            .put(
                "devices", array_schema(one_of(kDevices), 1),
                [](const Of& a) { return Json(a.machines); }, "that it is compiled for")
            .array(
                "options", option_shape(), [](const Of& a) { return a.options; }, "its own")
            .object(
                "registers", registers_shape(), [](const Of& a) { return a.registers; },
                "of its kernels, per thread, from the compiler; null: compiled for no GPU")
            .object(
                "published_registers", published_shape(),
                [](const Of& a) { return a.traits.published_registers; },
                "of a kernel with one allocation and one deallocation; null: unknown");
        return all;
    }();
    return shape;
}

Shape<scenes::GeneratorInfo> generator_shape() {
    using Of = scenes::GeneratorInfo;
    Shape<Of> shape;
    shape
        .field(
            "name", [](const Of& g) { return g.name; }, "of the scene gen:NAME:TRIANGLES[:SEED]")
        .field("description", [](const Of& g) { return g.description; });
    return shape;
}

Shape<Machine> machine_shape() {
    using Of = Machine;
    Shape<Of> shape;
    shape.choice("device", kDevices, [](const Of& m) { return m.kind(); })
        .field(
            "name", [](const Of& m) { return m.name; }, "as its maker calls it")
        .field(
            "units", [](const Of& m) { return m.units; }, "multiprocessors, or hardware threads",
            at_least(1))
        .field(
            "driver", [](const Of& m) { return text_or_none(m.driver); },
            "CUDA version that the driver speaks; null on a CPU")
        .field(
            "runtime", [](const Of& m) { return text_or_none(m.runtime); },
            "CUDA version of the program; null on a CPU")
        .field(
            "memory_bytes", [](const Of& m) { return m.memory; },
            "of the GPU, or what the system can still give");
    return shape;
}

const Shape<Listing>& list_shape() {
    static const Shape<Listing> shape = [] {
        using Of = Listing;
        Shape<Of> all;
        all.constant("schema", kSchema)
            .array(
                "allocators", allocator_shape(),
                [](const Of& l) -> const auto& { return l.allocators; }, "", 1)
            .array(
                "generators", generator_shape(), [](const Of& l) { return l.generators; }, "", 1)
            .array(
                "devices", machine_shape(), [](const Of& l) -> const auto& { return l.machines; },
                "", 1);
        return all;
    }();
    return shape;
}

/// The columns of CSV.
constexpr const char* kListColumns[] = {
    "name",   "title",        "frees_individually",  "full",    "walkable", "sound",
    "remade", "header_bytes", "smallest_pool_bytes", "devices", "source"};

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
             shown(json_value(allocator.sound), {}, "untested"),
             shown(json_value(t.header_bytes), Unit::count), shown(t.smallest_pool, Unit::bytes),
             joined(allocator.machines, ",")});
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
    for (const scenes::GeneratorInfo& g : listing.generators) {
        generators.rows.push_back({std::string(g.name), std::string(g.description)});
    }
    Table devices{.title = "Devices", .columns = {{"device"}, {"description"}}};
    for (const Machine& m : listing.machines) {
        devices.rows.push_back({m.kind(), m.text()});
    }
    if (!listing.no_gpu.empty()) devices.rows.push_back({"gpu", "none: " + listing.no_gpu});
    Document document{.title = "heapwood list",
                      .tables = {allocators, sources, options, registers, generators, devices},
                      .remarks = {{kAsteriskRemark}}};
    document.data = list_shape().json(listing);
    for (const Json& allocator : document.data["allocators"]) {
        Record record;
        for (const char* key : kListColumns) record.emplace_back(key, allocator.at(key));
        add_record(document.records, record);
    }
    return document;
}

Json list_schema() {
    return document_schema("What a program of Heapwood has to choose from (heapwood list --json)",
                           list_shape());
}

}  // namespace heapwood::app
