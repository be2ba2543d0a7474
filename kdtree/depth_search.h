/// @file
/// The search for the largest depth at which a tree keeps to its budget of references
/// (BuildConfig::max_duplication). One algorithm for all builders, so that their trees are equal.
#pragma once

#include <cstdint>
#include <limits>

#include "kdtree/config.h"

namespace heapwood::kdtree {

/// The references that the tree of N triangles may have.
inline std::uint64_t reference_budget(const BuildConfig& config, std::uint64_t triangles) {
    return config.max_duplication == 0 ? std::numeric_limits<std::uint64_t>::max()
                                       : config.max_duplication * triangles;
}

/// Says to which depth to build next, until a build is the last. A tree of a smaller depth is the
/// top of one of a larger depth, so it has no more references: that makes it a binary search. Most
/// scenes need one build.
class DepthSearch {
public:
    explicit DepthSearch(std::uint32_t max_depth) : depth_(max_depth), least_over_(max_depth + 1) {}

    /// The depth to build to.
    std::uint32_t depth() const { return depth_; }
    /// Whether that is less than the configuration allows.
    bool limited() const { return limited_; }

    /// Notes whether the tree of that depth has too many references.
    /// @return whether this tree is the one. Else another build has to follow.
    bool settle(bool over) {
        if (over) {
            limited_ = true;
            least_over_ = depth_;
        } else {
            most_fitting_ = depth_;
            if (most_fitting_ + 1 == least_over_) return true;
        }
        // The root alone is never over.
        depth_ = most_fitting_ + (least_over_ - most_fitting_) / 2;
        return false;
    }

private:
    std::uint32_t depth_;
    std::uint32_t least_over_;
    std::uint32_t most_fitting_ = 0;
    bool limited_ = false;
};

}  // namespace heapwood::kdtree
