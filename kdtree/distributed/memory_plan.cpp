#include "kdtree/distributed/memory_plan.h"

#include <algorithm>
#include <optional>
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
/// A GPU that has the whole scene builds this many cells, so that the host copies one cell while
/// the GPU builds the next. It builds fewer where cells would be smaller than kSmallestOfGpu,
/// which do not keep a GPU busy.
constexpr std::uint64_t kCellsEach = 8;
constexpr std::uint64_t kSmallestOfGpu = std::uint64_t{1} << 20;
/// The share of a GPU's memory that a build may take where it is not told.
constexpr double kShare = 0.75;

[[noreturn]] void refuse(std::uint64_t limit, std::uint64_t enough) {
    const auto mebibytes = [](std::uint64_t bytes) {
        return std::to_string((bytes >> 20) + 1) + " MiB";
    };
    throw allocators::BufferError("the build needs about " + mebibytes(enough) +
                                  " of memory, and may take " + mebibytes(limit - 1) +
                                  ": allow it more (--memory)");
}

/// Bytes of a scene's triangles on a GPU and, while a level of the top is divided, of references of
/// two levels, some of which have been cut in two; or, before, of the scene they are made of.
std::uint64_t scene_bytes(std::uint64_t triangles, std::uint64_t positions) {
    const std::uint64_t scene = triangles * sizeof(glm::uvec3) + positions * sizeof(glm::vec3);
    const std::uint64_t references = (2 * triangles + triangles / 4) * sizeof(Reference);
    return triangles * sizeof(Triangle) + std::max(scene, references);
}

/// A build whose GPUs have the scene; nothing, if it does not fit.
std::optional<MemoryPlan> plan_gpus(std::uint64_t limit, std::uint32_t gpus,
                                    std::uint64_t gpu_bytes, std::uint64_t triangles,
                                    std::uint64_t positions) {
    const auto share = static_cast<std::uint64_t>(kShare * static_cast<double>(gpu_bytes));
    const std::uint64_t room = limit == 0 ? share : std::min(limit, gpu_bytes);
    MemoryPlan plan{.limit = limit,
                    .place = PartPlace::gpu,
                    .scene = scene_bytes(triangles, positions),
                    .dividing = 0,
                    .parts = gpus,
                    .cell_limit = 0};
    const std::uint64_t least = std::min(triangles + triangles / 8, kSmallestCell);
    if (plan.bytes(0, static_cast<std::uint32_t>(least)) > room) return {};
    const std::uint64_t even =
        std::clamp(triangles / (kCellsEach * gpus), kSmallestOfGpu, kLargestCell);
    plan.cell_limit = static_cast<std::uint32_t>(std::min(even, (room - plan.scene) / kCellBytes));
    return plan;
}

}  // namespace

std::uint64_t MemoryPlan::bytes(std::uint64_t cell_references, std::uint32_t largest_cell) const {
    const std::uint64_t cell = kCellBytes * largest_cell;
    if (place == PartPlace::cells) return cell;
    if (place == PartPlace::gpu) return scene + cell;
    return scene + sizeof(Reference) * cell_references + std::max(dividing, cell);
}

void MemoryPlan::check(const ForestResult& top) const {
    const std::uint64_t enough = bytes(top.cell_references, top.largest_cell);
    if (limit != 0 && enough > limit) refuse(limit, enough);
}

MemoryPlan plan_memory(std::uint64_t limit, std::uint32_t gpus, std::uint64_t gpu_bytes,
                       std::uint64_t triangles, std::uint64_t positions, unsigned threads) {
    const bool gpu = gpus > 0;
    if (gpu) {
        const auto plan = plan_gpus(limit, gpus, gpu_bytes, triangles, positions);
        if (plan) return *plan;
    }
    MemoryPlan plan{.limit = limit,
                    .place = gpu ? PartPlace::cells : PartPlace::host,
                    .scene = 0,
                    .dividing = 0,
                    .parts = 0,
                    .cell_limit = 0};
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
