/// @file
/// The tests of Huang et al., "XMalloc: a scalable lock-free dynamic memory allocator for many-core
/// machines" (2010) and "Scalable SIMD-parallel memory allocation for many-core machines" (2013):
/// a million threads allocate an int, write it, and free it. The first lanes of each warp work, and
/// the others idle. Where time falls with the number of lanes, an allocator gains from lanes that
/// call together.
///
/// Milliseconds for a million objects are nanoseconds an object.
#include "app/base/text.h"
#include "app/measure/workloads/sweeps/sweep_parts.h"

namespace heapwood::app::sweeps {
namespace {

constexpr std::uint32_t kWorkers = 1000000;
constexpr std::uint32_t kWorkersOnCpu = 100000;
constexpr std::uint64_t kHeap = 500 * kMiB;
constexpr std::uint64_t kHeapOnCpu = 64 * kMiB;
// Already there in the second series.
constexpr std::uint32_t kHeldBlocks = 1U << 17;
constexpr std::uint32_t kHeldBlocksOnCpu = 1U << 14;
constexpr std::uint32_t kHeldBytes = 1024;

const Axis kLanes{"lanes", "lanes of a warp that call",
                  [](Task& task, std::uint64_t lanes) { task.lanes = narrow(lanes); }};

}  // namespace

std::vector<Series> xmalloc(const SweepSettings& settings) {
    const bool gpu = settings.gpu;
    Task task = task_of(Procedure::pairs,
                        settings.quick ? kQuickPool
                        : gpu          ? kHeap
                                       : kHeapOnCpu,
                        settings);
    task.callers = settings.quick ? kQuickCallers : gpu ? kWorkers : kWorkersOnCpu;
    set_bytes(task, sizeof(std::int32_t));
    // A CPU's warp has one lane.
    const auto lanes = gpu ? chosen(powers(1, 32, 2), settings) : std::vector<std::uint64_t>{1};
    std::vector<Series> all;
    for (const bool held : {false, true}) {
        if (held) {
            task.held_bytes = kHeldBytes;
            task.held_blocks = settings.quick ? kQuickCallers
                               : gpu          ? kHeldBlocks
                                              : kHeldBlocksOnCpu;
        }
        const std::string before =
            held ? ", " + grouped(task.held_blocks) + " blocks of 1 KiB there before" : "";
        all.push_back(
            series(held ? "xmalloc.held" : "xmalloc.lanes",
                   "Alloc, write, dealloc an int by " + grouped(task.callers) + " threads" + before,
                   held ? "Huang et al. 2010, section 4" : "Huang et al. 2010, figures 2 and 5",
                   kLanes, {kMs}, task, lanes, Room::half));
    }
    return all;
}

}  // namespace heapwood::app::sweeps
