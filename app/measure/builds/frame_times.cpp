#include "app/base/text.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/result_json.h"

namespace heapwood::app {
namespace {

constexpr double kSecond = 1000;  // milliseconds

}  // namespace

Table frames_table(const Report& report) {
    Table table{.title = "Frames",
                .columns = {{"allocator"},
                            {"frames", true},
                            {"first ms", true},
                            {"median ms", true},
                            {"min", true},
                            {"max", true},
                            {"rebuilds/s", true}}};
    for (const Result& result : report.results) {
        if (!result.frames) continue;
        const MeasuredFrames& frames = *result.frames;
        const Spread times = spread(frames.milliseconds);
        const double rate = kSecond / times.median;
        table.rows.push_back({starred(result.allocator.name, result.allocator.full),
                              Cell(grouped(frames.digests.size())),
                              shown(frames.first_ms, Unit::ms), shown(times.median, Unit::ms),
                              shown(times.min, Unit::ms), shown(times.max, Unit::ms),
                              Cell(fixed(rate, rate < 100 ? 1 : 0), rate)});
    }
    return table;
}

Json frames_json(const Result& result) {
    if (!result.frames) return nullptr;
    const MeasuredFrames& frames = *result.frames;
    Json digests = Json::array();
    for (const std::uint64_t digest : frames.digests) digests.push_back(hex(digest));
    return {{"digests", digests},
            {"first_ms", frames.first_ms},
            {"ms", spread_json(frames.milliseconds)},
            {"rebuilds_per_second", kSecond / spread(frames.milliseconds).median}};
}

}  // namespace heapwood::app
