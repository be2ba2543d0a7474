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
        (row.kernel == Kernel::uncoalesced ? found->uncoalesced
         : row.kernel == Kernel::coalesced ? found->coalesced
                                           : found->build) = row.figures;
    }
    return found;
}

std::string architecture_name(unsigned architecture) {
    return "sm_" + std::to_string(architecture);
}

}  // namespace heapwood::app
