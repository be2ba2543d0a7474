#include "kdtree/distributed/memory_plan.h"

#include <algorithm>
#include <string>

#include "allocators/memory/buffer.h"
#include "kdtree/distributed/parts.h"
#include "kdtree/model/reference.cuh"

namespace heapwood::kdtree {
namespace {

/// The program itself, and what a file in the making takes.
constexpr std::uint64_t kProgram = std::uint64_t{64} << 20;
/// A cell's references with their triangles, two levels of its tree, the tree in two forms, and
/// what waits to be written: measured, and rounded up (kdtree/README.md).
constexpr std::uint64_t kCellBytes = 1024;
/// Cells below this size save no memory that matters.
constexpr std::uint64_t kSmallestCell = std::uint64_t{1} << 16;
/// Cells above it save no time.
constexpr std::uint64_t kLargestCell = std::uint64_t{1} << 22;

[[noreturn]] void refuse(std::uint64_t limit, std::uint64_t enough) {
    const auto mebibytes = [](std::uint64_t bytes) {
        return std::to_string((bytes >> 20) + 1) + " MiB";
    };
    throw allocators::BufferError("the build needs about " + mebibytes(enough) +
                                  " of memory, and may take " + mebibytes(limit - 1) +
                                  ": allow it more (--memory)");
}

}  // namespace

std::uint64_t MemoryPlan::bytes(std::uint64_t cell_references, std::uint32_t largest_cell) const {
    const std::uint64_t cell = kCellBytes * largest_cell;
    if (gpu) return cell;
    return scene + sizeof(Reference) * cell_references + std::max(dividing, cell);
}

void MemoryPlan::check(const ForestResult& top) const {
    const std::uint64_t enough = bytes(top.cell_references, top.largest_cell);
    if (limit != 0 && enough > limit) refuse(limit, enough);
}

MemoryPlan plan_memory(std::uint64_t limit, bool gpu, std::uint64_t triangles,
                       std::uint64_t positions, unsigned threads) {
    MemoryPlan plan{
        .limit = limit, .gpu = gpu, .scene = 0, .dividing = 0, .parts = 0, .cell_limit = 0};
    plan.scene = kProgram + triangles * sizeof(glm::uvec3) + positions * sizeof(glm::vec3);
    plan.parts = part_count(triangles, threads);
    plan.dividing =
        threads * (triangles / plan.parts + 1) * (sizeof(Triangle) + 2 * sizeof(Reference));
    // The top cuts some triangles in two.
    const std::uint64_t references = triangles + triangles / 8;
    const std::uint64_t smallest = std::min(references, kSmallestCell);
    std::uint64_t cell = kLargestCell;
    if (limit != 0) {
        const std::uint64_t least = plan.bytes(references, static_cast<std::uint32_t>(smallest));
        if (limit < least) refuse(limit, least);
        const std::uint64_t without_cell = gpu ? 0 : plan.scene + sizeof(Reference) * references;
        cell = std::min((limit - without_cell) / kCellBytes, kLargestCell);
    }
    plan.cell_limit = static_cast<std::uint32_t>(std::max(cell, smallest));
    return plan;
}

}  // namespace heapwood::kdtree
