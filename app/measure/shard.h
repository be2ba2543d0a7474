/// @file
/// A run divided into shards, one a machine.
#pragma once

#include <vector>

#include "app/measure/plan.h"

namespace heapwood::app {

/// One of those that a run is divided into.
struct Shard {
    unsigned number = 1;  ///< from 1
    unsigned of = 1;

    bool operator==(const Shard&) const = default;
};
HEAPWOOD_JSON_OF(Shard, number, of)

/// The shard that each cell of a plan belongs to, by the cell's number; shards have numbers from 1
/// on, and some may be empty. The answer depends on the plan alone, so that machines agree on it
/// without a word.
///
/// What a runner does for one account stays together: it shares a budget, and a hang ends it. These
/// units lie in a row, account by account, and the row is cut where shards have the same expected
/// work, to half a unit. So most of a scene's, or a test's, runners are compared on one machine,
/// and few machines load the same scene. Expected work leaves allocators out of account: the
/// whole of a turn differs less by them than by the triangles.
/// @param plan that has no turns yet
/// @param shards at least 1
std::vector<unsigned> divide(const Plan& plan, unsigned shards);

}  // namespace heapwood::app
