/// @file
/// The generic tests of Vinkler & Havran, "Register Efficient Memory Allocator for GPUs" (2014,
/// Table 1) and "Register Efficient Dynamic Memory Allocator for GPUs" (2015, Table 2). Blocks of 8
/// warps; the first lane of each warp calls.
#include "app/measure/sweep_parts.h"

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
// The papers' heap has room for nearly all points; those that could not fit are left out.
constexpr std::uint64_t kWholePool = 1;

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

Series series(const std::string& test, const std::string& id, const std::string& title,
              const std::string& figure, const Axis& axis, std::vector<Point> points) {
    return {.id = test + "." + id,
            .test = test,
            .title = title,
            .source = "Vinkler & Havran 2015, " + figure,
            .axis = axis,
            .metrics = {kMs},
            .points = std::move(points)};
}

std::vector<Series> ad(const Task& common, const std::vector<std::uint64_t>& payloads) {
    Task remains = common;
    remains.procedure = Procedure::remains;
    std::vector<Series> all{
        series("ad", "payload", "AD: alloc, dealloc, against the size of a request", "figure 3(a)",
               kBytes, points(payloads, common, kWholePool, set_bytes)),
        series("ad", "fragmentation", "Fragmentation by AD, against the size of a request",
               "figures 5(a) and 5(b)", kBytes, points(payloads, remains, kWholePool, set_bytes))};
    all.back().metrics = {{"internal", "internal fragmentation of the blocks", "1", false},
                          {"external", "external fragmentation after all is free", "1", false}};
    return all;
}

std::vector<Series> acd(const Task& common, const std::vector<std::uint64_t>& payloads,
                        const SweepSettings& settings) {
    Task cycle = common;
    cycle.requests = settings.quick ? 4 : kIterations;
    const auto heaps = chosen(powers(kSmallestHeap, heap(settings), 2), settings);
    std::vector<std::uint64_t> cycles = chosen(steps(kIterations, kMostIterations), settings);
    std::vector<Series> all{
        series("acd", "payload", "ACD: alloc, cycle, dealloc, against the size of a request",
               "figure 4", kBytes, points(payloads, cycle, kWholePool, set_bytes)),
        series("acd", "pool", "ACD against the size of the pool", "figure 3(b)", kPool,
               points(heaps, cycle, kWholePool, set_pool)),
        series("acd", "requests", "ACD against the number of requests in a cycle", "figure 3(c)",
               {"requests", "requests of each warp"},
               points(cycles, cycle, kWholePool,
                      [](Task& task, std::uint64_t n) { task.requests = narrow(n); }))};
    all[1].exact_pool = true;
    return all;
}

std::vector<Series> p(const Task& common, const SweepSettings& settings) {
    Task task = common;
    task.rounds = settings.quick ? 8 : kLaunches;
    task.threshold = kThreshold;
    const std::uint32_t blocks = task.callers / kWarpsOfABlock;
    const auto counts = chosen(steps(std::max(blocks / 8, 1U), blocks), settings);
    return {series("p", "blocks", "P: requests and frees by chance, against the number of blocks",
                   "figure 3(d)", {"blocks", "blocks of 8 warps"},
                   points(counts, task, kWholePool, [](Task& t, std::uint64_t n) {
                       t.callers = narrow(n * kWarpsOfABlock);
                   }))};
}

}  // namespace

std::vector<Series> generic(const std::string& test, const SweepSettings& settings) {
    const auto procedure = test == "ad"    ? Procedure::pairs
                           : test == "acd" ? Procedure::cycle
                                           : Procedure::probability;
    Task common = task_of(procedure, heap(settings), settings);
    common.by_warp = true;
    common.callers = settings.quick ? kQuickCallers : settings.blocks * kWarpsOfABlock;
    set_bytes(common, kBytesOfARequest);
    const auto payloads = chosen(powers(kBytesOfARequest, largest_payload(settings), 2), settings);
    if (test == "ad") return ad(common, payloads);
    if (test == "acd") return acd(common, payloads, settings);
    return p(common, settings);
}

}  // namespace heapwood::app::sweeps
