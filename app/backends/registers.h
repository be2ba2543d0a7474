/// @file
/// What ptxas said of an allocator's kernels when this program was compiled: known without a GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heapwood::app {

/// One kernel's resources, per thread, with those of the functions that it calls out of line.
struct KernelFigures {
    unsigned registers;
    unsigned stack_bytes;        ///< local memory
    unsigned spill_store_bytes;  ///< written by instructions that save registers, each counted once
    unsigned spill_load_bytes;   ///< read back, likewise
};

/// The kernels of an allocator.
enum class Kernel {
    uncoalesced,  ///< one allocation and one deallocation; every lane calls on its own
    coalesced,    ///< the same; the lanes of a warp call together
    build,        ///< the builder, without adaptors
};

/// An entry of the table.
struct KernelRow {
    std::string_view allocator;  ///< its name on the command line
    unsigned architecture;       ///< 90 for sm_90
    Kernel kernel;
    KernelFigures figures;
};

/// All entries: for every allocator, kernel and architecture that machine code was made for. Empty
/// without CUDA. Made by scripts/cmake/registers.sh.
const std::vector<KernelRow>& kernel_table();

/// An allocator's kernels on one architecture.
struct Registers {
    unsigned architecture = 0;  ///< 90 for sm_90
    std::optional<KernelFigures> uncoalesced;
    std::optional<KernelFigures> coalesced;
    std::optional<KernelFigures> build;
};

/// "sm_90" for 90, and the pattern of such names.
std::string architecture_name(unsigned architecture);
inline constexpr const char* kArchitecturePattern = "^sm_[0-9]+$";

/// An allocator's figures in a table: for the newest architecture whose machine code a device of
/// compute capability `device` (90 for 9.0) can run, or for the newest of all if there is none, as
/// for 0. Nothing if the table does not have the allocator.
std::optional<Registers> find_registers(const std::vector<KernelRow>& table,
                                        std::string_view allocator, unsigned device);

}  // namespace heapwood::app
