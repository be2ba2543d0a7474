#include "kdtree/distributed/parts.h"

#include <algorithm>

#include "allocators/platform/for_chunks.h"
#include "allocators/platform/threads.h"
#include "kdtree/distributed/workers.h"
#include "scenes/pieces.h"

namespace heapwood::kdtree {
namespace {

/// A part has about as many triangles; of fewer its bins would be more than its references.
constexpr std::uint64_t kPartTriangles = std::uint64_t{1} << 17;

std::vector<Bins> sum_of(const std::vector<std::vector<Bins>>& parts) {
    std::vector<Bins> sum;
    for (const std::vector<Bins>& part : parts) add_bins(sum, part);
    return sum;
}

}  // namespace

std::uint32_t part_count(std::uint64_t triangles, unsigned threads) {
    return static_cast<std::uint32_t>(
        std::max<std::uint64_t>(triangles / kPartTriangles, std::max(threads, 1U)));
}

Parts::Parts(const TriangleRange& range, float scale, bool clip, std::uint32_t count,
             unsigned threads)
    : threads_(platform::thread_count(threads)) {
    const std::uint64_t n = range.end - range.begin;
    for (std::uint32_t i = 0; i < count; ++i) {
        TriangleRange some = range;
        some.begin = range.begin + scenes::range_begin(n, i, count);
        some.end = range.begin + scenes::range_begin(n, i + 1, count);
        parts_.emplace_back(some, scale, clip);
    }
}

/// What work(part) returns, by part; threads share the parts.
template <class Work>
auto Parts::of_all(const Work& work) {
    std::vector<decltype(work(parts_.front()))> results(parts_.size());
    platform::for_chunks(parts_.size(), 1, threads_,
                         [&](std::uint64_t i, std::uint64_t) { results[i] = work(parts_[i]); });
    return results;
}

std::vector<Bins> Parts::start(const TopStart& start) {
    return sum_of(of_all([&](Part& part) { return part.start(start); }));
}

std::vector<Bins> Parts::divide(std::span<const Decision> decisions) {
    return sum_of(of_all([&](Part& part) { return part.divide(decisions); }));
}

CellReferences Parts::take(std::uint32_t cell) {
    std::vector<CellReferences> by_part = of_all([&](Part& part) { return part.take(cell); });
    std::size_t count = 0;
    for (const CellReferences& some : by_part) count += some.references.size();
    CellReferences all;
    all.reserve(count);
    for (CellReferences& some : by_part) {
        all.append(some.references, some.triangles, some.numbers);
        some = {};
    }
    return all;
}

}  // namespace heapwood::kdtree
