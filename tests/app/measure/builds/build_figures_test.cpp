/// @file
/// A result is read back from its JSON as it was, and keeps the first failure.
#include <gtest/gtest.h>

#include "app/base/json.h"
#include "app/measure/builds/frames.h"
#include "app/measure/builds/result_json.h"
#include "scenes/generators.h"
#include "tests/app/sample_report.h"

namespace heapwood::app {
namespace {

Backend backend_of(const Result& r) {
    return {.traits = r.allocator, .gpu = false, .build = nullptr, .method = r.method};
}

/// A result in which no two figures are the same.
Result full_result() {
    Result r = sample_report(true).results[0];
    r.allocator.walkable = true;
    r.minimal_pool_bytes = 301;
    r.built.overhead_bytes = 302;
    r.built.leaked_bytes = 303;
    r.built.pool_ms = 0.1;
    r.built.upload_ms = 1e-300;
    r.built.warps = 304;
    r.built.spill_bytes = 305;
    r.built.memory = {.pool = 1,
                      .side_tables = 2,
                      .triangles = 3,
                      .nodes = 4,
                      .references = 5,
                      .large_nodes = 6,
                      .stacks = 7,
                      .queue = 8,
                      .levels = 9,
                      .spare = 10};
    r.tree->quality = {.nodes = 11,
                       .leaves = 12,
                       .empty_leaves = 13,
                       .references = 14,
                       .references_per_triangle = 1.0 / 3,
                       .max_depth = 15,
                       .largest_leaf = 16,
                       .I = 17.1,
                       .L = 18.1,
                       .P = 19.1};
    r.tree->sah = 20.5;
    r.tree->sah_1_1_5 = 21.5;
    r.tree->digest = 0xFEDCBA9876543210U;
    r.tree->verified = true;
    r.built.allocations->frees = 22;
    r.built.allocations->failed = 23;
    r.built.allocations->mean_bytes = 24.5;
    r.built.allocations->deviation_bytes = 25.5;
    r.built.allocations->peak_live_bytes = std::uint64_t{1} << 60;
    r.built.allocations->internal_fragmentation = 0.125;
    r.built.heap_map = {.reach_bytes = 306,
                        .cell_bytes = 77,
                        .peak = {.blocks = "a.-Z", .fill = "1009"},
                        .end = {.blocks = "..--", .fill = "0000"}};
    return r;
}

/// A wrong tree, and then a pool that is too small.
MeasuredFrames wrong_and_short(const std::vector<scenes::Scene>& frames, const kdtree::BuildConfig&,
                               const RunOptions&, const LookAtTree& look) {
    look(frames[0], {});
    MeasuredFrames built;
    built.status = kdtree::Status::pool_exhausted;
    return built;
}

TEST(Frames, AWrongTreeIsToldWhateverFollows) {
    const std::vector<scenes::Scene> frames{scenes::generate({"soup", 20, 1})};
    const Backend backend{
        .traits = {}, .gpu = false, .build = nullptr, .build_frames = wrong_and_short};
    const MeasureOptions options{.config = {}, .run = {}, .verify = true};
    Result result;
    take_frames(backend, frames, {frames[0], options}, result);
    EXPECT_EQ(result.outcome, Outcome::verification_failed) << result.message;
}

TEST(ReadResult, IsTheInverse) {
    const Report report = sample_report(true);
    const Result r = full_result();
    const Json json = result_json(report, r);
    // Through text, as from process to process.
    const Result again = read_result(Json::parse(json.dump()), backend_of(r));
    Result with_kernels = again;
    with_kernels.kernels = r.kernels;
    EXPECT_EQ(result_json(report, with_kernels).dump(2), json.dump(2));
    // Those whose null has a meaning, too.
    EXPECT_EQ(again.built.peak->internal_fragmentation, -1);
    EXPECT_EQ(again.built.allocations->histogram, r.built.allocations->histogram);
    EXPECT_EQ(again.built.milliseconds, r.built.milliseconds);
    EXPECT_EQ(again.built.upload_ms, 1e-300);
}

TEST(ReadResult, OfAFailure) {
    const Report report = sample_report();
    const Result& failed = report.results[1];
    const Json json = result_json(report, failed);
    const Result again = read_result(json, backend_of(failed));
    EXPECT_EQ(result_json(report, again).dump(2), json.dump(2));
    EXPECT_EQ(again.outcome, Outcome::pool_exhausted);
    EXPECT_EQ(again.message, failed.message);
    EXPECT_FALSE(again.tree || again.built.allocations || again.built.peak ||
                 again.minimal_pool_bytes);
}

TEST(ReadResult, EveryOutcomeHasAName) {
    Report report = sample_report();
    Result& r = report.results[0];
    for (int i = 0; i <= static_cast<int>(Outcome::unfinished); ++i) {
        r.outcome = static_cast<Outcome>(i);
        EXPECT_EQ(read_result(result_json(report, r), backend_of(r)).outcome, r.outcome)
            << name(r.outcome);
    }
}

TEST(ReadResult, RefusesWhatIsNone) {
    const Report report = sample_report(true);
    const Result r = full_result();
    const Json good = result_json(report, r);
    const auto refused = [&](const char* pointer, const Json& value) {
        Json wrong = good;
        wrong[Json::json_pointer(pointer)] = value;
        try {
            read_result(wrong, backend_of(r));
        } catch (const Json::exception&) {
            return true;
        } catch (const std::invalid_argument&) {
            return true;
        }
        return false;
    };
    EXPECT_FALSE(refused("/outcome", "done"));
    EXPECT_TRUE(refused("/heap_map/cell_bytes", 0));
    EXPECT_TRUE(refused("/heap_map/cell_bytes", 76));
    EXPECT_TRUE(refused("/heap_map/peak_blocks", "abc"));
    EXPECT_TRUE(refused("/heap_map/end_blocks", "ab1c"));
    EXPECT_TRUE(refused("/heap_map/peak_fill", "12a4"));
    const std::string many(5000, 'a');
    const std::string full(5000, '9');
    EXPECT_TRUE(refused("/heap_map", {{"reach_bytes", 5000},
                                      {"cell_bytes", 1},
                                      {"peak_blocks", many},
                                      {"peak_fill", full},
                                      {"end_blocks", many},
                                      {"end_fill", full}}))
        << "more cells than a map has";
    EXPECT_TRUE(refused("/outcome", "fine"));
    EXPECT_TRUE(refused("/outcome", 1));
    EXPECT_TRUE(refused("/build/allocator", "other"));
    EXPECT_TRUE(refused("/build/method", "levels"));
    EXPECT_TRUE(refused("/build/ms/samples", Json::array()));
    EXPECT_TRUE(refused("/build/ms", Json())) << "a build that is done has a time";
    EXPECT_TRUE(refused("/build/pool_bytes", "many"));
    EXPECT_TRUE(refused("/build/pool_bytes", 1e30)) << "has no room";
    EXPECT_TRUE(refused("/build/warps", std::uint64_t{1} << 32)) << "has no room";
    EXPECT_TRUE(refused("/build/warps", -1));
    EXPECT_TRUE(refused("/tree/nodes", 0.5));
    EXPECT_TRUE(refused("/allocations/histogram/0/requests", 1e30));
    EXPECT_TRUE(refused("/tree", Json())) << "a build that is done has a tree";
    EXPECT_TRUE(refused("/tree/digest", "xyz"));
    EXPECT_TRUE(refused("/memory", 3));
    EXPECT_TRUE(refused("/allocations/histogram/0/from_bytes", 0));
    for (const auto& [key, value] : good.items()) {
        if (key == "published_registers") continue;
        Json wrong = good;
        wrong.erase(key);
        EXPECT_THROW(read_result(wrong, backend_of(r)), Json::exception) << key;
    }
}

}  // namespace
}  // namespace heapwood::app
