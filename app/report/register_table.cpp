#include "app/report/register_table.h"

#include <nlohmann/json.hpp>

namespace heapwood::app {
namespace {

/// "24", or with local memory "80 (stack 352 B, spills 888/820 B)": stored and loaded again.
std::string kernel_text(const std::optional<KernelFigures>& kernel) {
    if (!kernel) return kNoValue;
    std::string memory;
    if (kernel->stack_bytes > 0) memory = "stack " + std::to_string(kernel->stack_bytes) + " B";
    if (kernel->spill_store_bytes + kernel->spill_load_bytes > 0) {
        memory += (memory.empty() ? "" : ", ") + std::string("spills ") +
                  std::to_string(kernel->spill_store_bytes) + "/" +
                  std::to_string(kernel->spill_load_bytes) + " B";
    }
    return std::to_string(kernel->registers) + (memory.empty() ? "" : " (" + memory + ")");
}

std::string published_text(unsigned registers) {
    return registers == 0 ? kNoValue : std::to_string(registers);
}

}  // namespace

Table registers_table() {
    return {.title = "Registers (a kernel with one allocation and one deallocation; the build)",
            .columns = {{"allocator"},
                        {"uncoalesced", true},
                        {"published", true},
                        {"coalesced", true},
                        {"published", true},
                        {"build", true},
                        {"compiled for"}},
            .rows = {}};
}

std::vector<std::string> registers_row(const std::string& label, const allocators::Traits& traits,
                                       const std::optional<Registers>& registers) {
    const allocators::PublishedRegisters& published = traits.published_registers;
    const Registers found = registers.value_or(Registers{});
    return {label,
            kernel_text(found.uncoalesced),
            published_text(published.uncoalesced),
            kernel_text(found.coalesced),
            published_text(published.coalesced),
            kernel_text(found.build),
            registers ? "sm_" + std::to_string(found.architecture) : kNoValue};
}

nlohmann::ordered_json kernel_json(const std::optional<KernelFigures>& kernel) {
    if (!kernel) return {};
    return {{"registers", kernel->registers},
            {"stack_bytes", kernel->stack_bytes},
            {"spill_store_bytes", kernel->spill_store_bytes},
            {"spill_load_bytes", kernel->spill_load_bytes}};
}

nlohmann::ordered_json published_registers_json(const allocators::Traits& traits) {
    const auto known = [](unsigned registers) {
        return registers == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(registers);
    };
    return {{"uncoalesced", known(traits.published_registers.uncoalesced)},
            {"coalesced", known(traits.published_registers.coalesced)}};
}

}  // namespace heapwood::app
