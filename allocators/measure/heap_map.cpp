#include "allocators/measure/heap_map.h"

#include <algorithm>
#include <array>
#include <bit>

namespace heapwood::allocators {
namespace {

constexpr std::size_t kSizes = sizeof(kBlockSizes) - 1;

/// Bytes of one cell, by what has them.
struct Bytes {
    std::array<std::uint64_t, kSizes> blocks{};
    std::uint64_t allocated = 0;
    std::uint64_t free = 0;
};

std::uint64_t reach_of(const std::vector<Region>& regions, std::uint64_t reach) {
    for (const Region& region : regions) {
        if (region.allocated) reach = std::max(reach, region.offset + region.size);
    }
    return reach;
}

std::size_t size_of(const Region& block) {
    return std::min<std::size_t>(std::bit_width(block.size) - 1, kSizes - 1);
}

char letter_of(const Bytes& cell) {
    if (cell.allocated == 0) return cell.free > 0 ? kFreeCell : kOtherCell;
    return kBlockSizes[std::ranges::max_element(cell.blocks) - cell.blocks.begin()];
}

HeapCells cells_of(const std::vector<Region>& regions, const HeapMap& map) {
    std::vector<Bytes> cells((map.reach_bytes + map.cell_bytes - 1) / map.cell_bytes);
    for (const Region& region : regions) {
        const std::uint64_t end = std::min(region.offset + region.size, map.reach_bytes);
        for (std::uint64_t at = region.offset; at < end;) {
            Bytes& cell = cells[at / map.cell_bytes];
            const std::uint64_t next = std::min(end, (at / map.cell_bytes + 1) * map.cell_bytes);
            if (region.allocated) {
                cell.blocks[size_of(region)] += next - at;
                cell.allocated += next - at;
            } else {
                cell.free += next - at;
            }
            at = next;
        }
    }
    HeapCells result;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::uint64_t bytes = std::min(
            map.cell_bytes, map.reach_bytes - static_cast<std::uint64_t>(i) * map.cell_bytes);
        result.blocks += letter_of(cells[i]);
        result.fill += static_cast<char>('0' + (9 * cells[i].allocated + bytes - 1) / bytes);
    }
    return result;
}

}  // namespace

HeapMap heap_map(const std::vector<Region>& at_peak, const std::vector<Region>& at_end) {
    HeapMap map;
    map.reach_bytes = reach_of(at_end, reach_of(at_peak, 0));
    if (map.reach_bytes == 0) return map;
    map.cell_bytes = (map.reach_bytes + kMapCells - 1) / kMapCells;
    map.peak = cells_of(at_peak, map);
    map.end = cells_of(at_end, map);
    return map;
}

}  // namespace heapwood::allocators
