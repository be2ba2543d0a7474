#include "app/report/register_table.h"

namespace heapwood::app {
namespace {

/// "24", or with local memory "80 (stack 352 B, spills 888/820 B)": stored and loaded again.
Cell kernel_cell(const std::optional<KernelFigures>& kernel) {
    if (!kernel) return kNoValue;
    std::string memory;
    if (kernel->stack_bytes > 0) memory = "stack " + std::to_string(kernel->stack_bytes) + " B";
    if (kernel->spill_store_bytes + kernel->spill_load_bytes > 0) {
        memory += (memory.empty() ? "" : ", ") + std::string("spills ") +
                  std::to_string(kernel->spill_store_bytes) + "/" +
                  std::to_string(kernel->spill_load_bytes) + " B";
    }
    return {std::to_string(kernel->registers) + (memory.empty() ? "" : " (" + memory + ")"),
            kernel->registers};
}

Cell published_cell(unsigned registers) {
    if (registers == 0) return kNoValue;
    return {std::to_string(registers), registers};
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
                        {"compiled for"}}};
}

std::vector<Cell> registers_row(const std::string& label, const allocators::Traits& traits,
                                const std::optional<Registers>& registers) {
    const allocators::PublishedRegisters& published = traits.published_registers;
    const Registers found = registers.value_or(Registers{});
    return {label,
            kernel_cell(found.uncoalesced),
            published_cell(published.uncoalesced),
            kernel_cell(found.coalesced),
            published_cell(published.coalesced),
            kernel_cell(found.build),
            registers ? Cell("sm_" + std::to_string(found.architecture)) : Cell(kNoValue)};
}

}  // namespace heapwood::app
