/// @file
/// Parts of one process, which its threads share. Together they are as one part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/distributed/part.h"
#include "kdtree/distributed/top_levels.h"

namespace heapwood::kdtree {

/// How many parts so many triangles are in, for so many threads: for each thread one, and more of
/// many triangles, since a part that is divided has its triangles in memory once more.
std::uint32_t part_count(std::uint64_t triangles, unsigned threads);

class Parts {
public:
    /// A range in `count` ranges of about equal numbers of triangles. Refers to its scene.
    /// @param scale, clip as of Part
    /// @param threads 0: one a core
    Parts(const TriangleRange& range, float scale, bool clip, std::uint32_t count,
          unsigned threads);

    std::uint32_t count() const { return static_cast<std::uint32_t>(parts_.size()); }

    /// As those of Part; the bins are sums of all parts'.
    std::vector<Bins> start(const TopStart& start);
    std::vector<Bins> divide(std::span<const Decision> decisions);
    CellReferences take(std::uint32_t cell);

private:
    template <class Work>
    auto of_all(const Work& work);

    unsigned threads_;
    std::vector<Part> parts_;
};

}  // namespace heapwood::kdtree
