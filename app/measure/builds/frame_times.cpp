#include "app/base/text.h"
#include "app/measure/builds/build_parts.h"

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

const Shape<MeasuredFrames>& frames_shape() {
    static const Shape<MeasuredFrames> shape = [] {
        using Of = MeasuredFrames;
        Shape<Of> all;
        all.put(
               "digests", array_schema(schema_of<Digest>(), 1),
               [](const Of& frames) { return array_of(frames.digests, hex); },
               "of each frame's tree")
            .field(
                "first_ms", [](const Of& frames) { return frames.first_ms; },
                "milliseconds of making the builder, its arrays and its pool, and of the first "
                "frame's tree")
            .object(
                "ms", samples_shape(), [](const Of& frames) { return frames.milliseconds; },
                "milliseconds of each later build, from a frame that lies where it is built to its "
                "tree there, by a steady clock")
            .field(
                "rebuilds_per_second",
                [](const Of& frames) { return kSecond / spread(frames.milliseconds).median; },
                "of the median");
        return all;
    }();
    return shape;
}

}  // namespace heapwood::app
