/// @file
/// The generic tests of Vinkler & Havran, "Register Efficient Memory Allocator for GPUs" (2014,
/// Table 1) and "Register Efficient Dynamic Memory Allocator for GPUs" (2015, Table 2). Blocks of 8
/// warps; the first lane of each warp calls.
#include "app/measure/workloads/sweeps/sweep_parts.h"

namespace heapwood::app::sweeps {
namespace {

constexpr std::uint32_t kWarpsOfABlock = 8;
constexpr std::uint32_t kBytesOfARequest = 4;
constexpr std::uint64_t kHeapOf2015 = 2048 * kMiB;
constexpr std::uint64_t kSmallestHeap = 128 * kKiB;
constexpr std::uint64_t kLargestPayload = 128 * kKiB;
constexpr std::uint32_t kIterations = 10;  // of ACD: requests in a cycle
constexpr std::uint32_t kMostIterations = 100;
constexpr std::uint32_t kLaunches = 10;  // of P
// A warp acts if its die is above this. So the 960 warps of the papers make 1440 requests and 960
// frees on average; the papers count 1450 and 986.
constexpr float kThreshold = 0.75F;

const Axis kRequests{"requests", "requests of each warp",
                     [](Task& task, std::uint64_t n) { task.requests = narrow(n); }};
const Axis kBlocks{"blocks", "blocks of 8 warps",
                   [](Task& task, std::uint64_t n) { task.callers = narrow(n * kWarpsOfABlock); }};

std::uint64_t heap(const SweepSettings& settings) {
    return settings.quick ? kQuickPool : settings.gpu ? kHeapOf2015 : kPoolOnCpu;
}

std::uint64_t largest_payload(const SweepSettings& settings) {
    if (settings.quick || !settings.gpu) return settings.largest_bytes;
    return std::max<std::uint64_t>(settings.largest_bytes, kLargestPayload);
}

/// Multiples of `step` up to `last`, which is the last of them in any case; 1 before them.
std::vector<std::uint64_t> steps(std::uint64_t step, std::uint64_t last) {
    std::vector<std::uint64_t> values{1};
    for (std::uint64_t v = step; v < last; v += step) {
        if (v > 1) values.push_back(v);
    }
    if (last > 1) values.push_back(last);
    return values;
}

std::vector<std::uint64_t> payloads(const SweepSettings& settings) {
    if (!settings.bytes.empty()) return settings.bytes;
    return chosen(powers(kBytesOfARequest, largest_payload(settings), 2), settings);
}

/// What the tests of both papers have in common.
Task generic(Procedure procedure, const SweepSettings& settings) {
    Task task = task_of(procedure, heap(settings), settings);
    task.lanes = 1;
    task.callers = settings.quick ? kQuickCallers : settings.blocks * kWarpsOfABlock;
    set_bytes(task, kBytesOfARequest);
    return task;
}

/// The papers' heap has room for nearly all points; those that could not fit are left out.
Series generic(const std::string& id, const std::string& title, const std::string& figure,
               const Axis& axis, const Task& task, const std::vector<std::uint64_t>& values) {
    return series(id, title, "Vinkler & Havran 2015, " + figure, axis, {kMs}, task, values,
                  Room::whole);
}

}  // namespace

std::vector<Series> ad(const SweepSettings& settings) {
    std::vector<Series> all{
        generic("ad.payload", "AD: alloc, dealloc, against the size of a request", "figure 3(a)",
                kBytes, generic(Procedure::pairs, settings), payloads(settings)),
        generic("ad.fragmentation", "Fragmentation by AD, against the size of a request",
                "figures 5(a) and 5(b)", kBytes, generic(Procedure::remains, settings),
                payloads(settings))};
    all.back().metrics = {{"internal", "internal fragmentation of the blocks", "1", false},
                          {"external", "external fragmentation after all is free", "1", false}};
    return all;
}

std::vector<Series> acd(const SweepSettings& settings) {
    Task cycle = generic(Procedure::cycle, settings);
    cycle.requests = settings.quick ? 4 : kIterations;
    std::vector<Series> all{
        generic("acd.payload", "ACD: alloc, cycle, dealloc, against the size of a request",
                "figure 4", kBytes, cycle, payloads(settings)),
        generic("acd.pool", "ACD against the size of the pool", "figure 3(b)", kPool, cycle,
                chosen(powers(kSmallestHeap, heap(settings), 2), settings)),
        generic("acd.requests", "ACD against the number of requests in a cycle", "figure 3(c)",
                kRequests, cycle, chosen(steps(kIterations, kMostIterations), settings))};
    all[1].exact_pool = true;
    return all;
}

std::vector<Series> p(const SweepSettings& settings) {
    Task task = generic(Procedure::probability, settings);
    task.rounds = settings.quick ? 8 : kLaunches;
    task.threshold = kThreshold;
    const std::uint32_t blocks = task.callers / kWarpsOfABlock;
    return {generic("p.blocks", "P: requests and frees by chance, against the number of blocks",
                    "figure 3(d)", kBlocks, task,
                    chosen(steps(std::max(blocks / 8, 1U), blocks), settings))};
}

}  // namespace heapwood::app::sweeps
