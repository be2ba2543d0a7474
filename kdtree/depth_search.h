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

/// What a build tells of the tree of its depth.
enum class BudgetVerdict : std::uint8_t {
    within,  ///< it keeps to its budget
    over,    ///< it has more references
    unknown  ///< it may have more: the build had not enough memory to find out
};

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

    /// Whether the tree of one level more may keep to the budget, too: then no tree is the one.
    bool unknown() const { return unknown_; }

    /// Notes whether the tree of that depth has too many references.
    /// @return whether this tree is the one. Else another build has to follow.
    bool settle(bool over) { return settle(over ? BudgetVerdict::over : BudgetVerdict::within); }
    /// The same where a build may not know it.
    /// @return whether the search has ended. Then the tree is the one unless unknown().
    bool settle(BudgetVerdict verdict) {
        if (verdict != BudgetVerdict::within) {
            limited_ = true;
            unknown_ = verdict == BudgetVerdict::unknown;
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
    bool unknown_ = false;  ///< of the tree of depth least_over_
};

}  // namespace heapwood::kdtree
