#include "app/backends/registers.h"

#include <utility>

namespace heapwood::app {

std::optional<Registers> find_registers(const std::vector<KernelRow>& table,
                                        std::string_view allocator, unsigned device) {
    // Machine code runs on its own generation only, and not on older devices of it.
    const auto rank = [device](unsigned architecture) {
        const bool runs = architecture / 10 == device / 10 && architecture <= device;
        return std::pair(runs, architecture);
    };
    std::optional<Registers> found;
    for (const KernelRow& row : table) {
        if (row.allocator != allocator) continue;
        if (!found || rank(row.architecture) > rank(found->architecture)) {
            found.emplace();
            found->architecture = row.architecture;
        }
        if (row.architecture != found->architecture) continue;
        switch (row.kernel) {
            case Kernel::uncoalesced:
                found->uncoalesced = row.figures;
                break;
            case Kernel::coalesced:
                found->coalesced = row.figures;
                break;
            case Kernel::build:
                found->build = row.figures;
                break;
        }
    }
    return found;
}

}  // namespace heapwood::app
