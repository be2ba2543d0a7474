/// @file
/// The program with allocators that go wrong in every way a real one should not, for
/// compare_failures_test.py. All build with the real builder before they do.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "app/backends/backend.h"
#include "app/verbs/commands.h"

namespace heapwood::app {
namespace {

/// In one thread, so that the same happens every time.
MeasuredBuild good(const scenes::Scene& scene, const kdtree::BuildConfig& config,
                   const RunOptions& run) {
    RunOptions one = run;
    one.threads = 1;
    return find_backend("cmalloc", false)->build(scene, config, one);
}

using Fault = void (*)(MeasuredBuild&, const RunOptions&);

/// A builder whose result a fault gets hold of.
template <Fault kFault>
MeasuredBuild faulty(const scenes::Scene& scene, const kdtree::BuildConfig& config,
                     const RunOptions& run) {
    MeasuredBuild result = good(scene, config, run);
    kFault(result, run);
    return result;
}

/// How many builds this process has done, this one included.
int builds() {
    static int count = 0;
    return ++count;
}

bool large(const MeasuredBuild& result) {
    return result.tree.references.size() > 200;
}

/// On large scenes, in its second build.
void hang(MeasuredBuild& result, const RunOptions&) {
    if (!large(result) || builds() < 2) return;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// On large scenes.
void die(MeasuredBuild& result, const RunOptions&) {
    if (large(result)) std::raise(SIGKILL);
}

void exit_early(MeasuredBuild&, const RunOptions&) {
    std::_Exit(3);
}

void say(const std::string& text) {
    static_cast<void>(!write(STDIN_FILENO, text.data(), text.size()));
}

void babble(MeasuredBuild&, const RunOptions&) {
    say("certainly!\n");
}

/// JSON, but not of a result.
void evade(MeasuredBuild&, const RunOptions&) {
    say("{\"outcome\": \"done\"}\n");
}

void flood(MeasuredBuild&, const RunOptions&) {
    for (;;) say(std::string(65536, 'x'));
}

/// A tree that is not the scene's.
void cut(MeasuredBuild& result, const RunOptions&) {
    result.tree.nodes = {kdtree::Node::leaf(0, 1)};
    result.tree.references.resize(1);
}

/// The scene's tree at first.
void waver(MeasuredBuild& result, const RunOptions& run) {
    if (builds() > 1) cut(result, run);
}

void overwrite(MeasuredBuild& result, const RunOptions&) {
    result.status = kdtree::Status::pool_exhausted;
    result.overwritten = true;
    result.message = "it would have";
}

void exhaust(MeasuredBuild& result, const RunOptions&) {
    result.status = kdtree::Status::pool_exhausted;
    result.message = "no room";
}

void leak(MeasuredBuild& result, const RunOptions&) {
    result.leaked_bytes = 16;
}

/// As CUDA does after an error: whoever builds once more fails again.
void fail(MeasuredBuild&, const RunOptions&) {
    throw std::runtime_error("an illegal memory access (build " + std::to_string(builds()) + ")");
}

/// Needs 1 MiB; hangs with less than 64 KiB.
void hunger(MeasuredBuild& result, const RunOptions& run) {
    if (run.pool_bytes < (std::uint64_t{1} << 20)) exhaust(result, run);
    if (run.pool_bytes < (std::uint64_t{1} << 16)) std::raise(SIGKILL);
}

/// Needs 1 MiB.
void need(MeasuredBuild& result, const RunOptions& run) {
    if (run.pool_bytes < (std::uint64_t{1} << 20)) exhaust(result, run);
}

/// Its times are known: 1, 2, 3 ... ms in the builds of a process.
void count_up(MeasuredBuild& result, const RunOptions&) {
    result.milliseconds.assign(1, builds());
}

void linger(MeasuredBuild&, const RunOptions&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

constexpr Backend backend(const char* name, decltype(Backend::build) build, bool full = true) {
    return {.traits = {.name = name,
                       .title = name,
                       .source = "a test",
                       .frees_individually = true,
                       .full = full,
                       .walkable = true,
                       .header_bytes = 0,
                       .smallest_pool = 4096},
            .gpu = false,
            .build = build};
}

constexpr Backend kFakes[] = {
    backend("good", good),
    backend("atomicmalloc", faulty<count_up>, false),
    backend("hangs", faulty<hang>),
    backend("dies", faulty<die>),
    backend("exits", faulty<exit_early>),
    backend("babbles", faulty<babble>),
    backend("evades", faulty<evade>),
    backend("floods", faulty<flood>),
    backend("cuts", faulty<cut>),
    backend("wavers", faulty<waver>),
    backend("overwrites", faulty<overwrite>, false),
    backend("exhausts", faulty<exhaust>),
    backend("leaks", faulty<leak>),
    backend("fails", faulty<fail>),
    backend("hungers", faulty<hunger>),
    backend("needs", faulty<need>),
    backend("lingers", faulty<linger>),
};

std::vector<const Backend*> fakes() {
    std::vector<const Backend*> all;
    for (const Backend& fake : kFakes) all.push_back(&fake);
    return all;
}

}  // namespace
}  // namespace heapwood::app

int main(int argc, char** argv) {
    return static_cast<int>(heapwood::app::run(argc, argv, heapwood::app::fakes()));
}
