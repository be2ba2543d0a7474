/// @file
/// The shards of a run put together: their turns are taken over by a plan of the whole run, which
/// nobody carries out.
#pragma once

#include <string>
#include <vector>

#include "app/measure/part.h"
#include "app/measure/plan.h"

namespace heapwood::app {

/// The parts of one run, by the number of their shard.
/// @throws PartError, scenes::SceneError; UsageError if they are of different runs, or two are of
/// one shard.
std::vector<Part> read_parts(const std::vector<std::string>& paths);

/// Which shards the run lacks, each with its command line, and which parts were interrupted, with
/// the way to go on; nothing: all turns are there.
std::vector<std::string> lacking(const std::vector<Part>& parts);

/// Adds the turns of all parts to the plan's results. Cells without turns, for their shard has
/// skipped them, are passed over; those of shards that lack stay as they are.
/// @param plan that the parts' arguments and facts lead to
/// @return the shard that each cell belongs to, by the cell's number.
/// @throws UsageError if this program makes another run of them; PartError for turns that lack, or
/// that no shard takes.
std::vector<unsigned> take_over(Plan& plan, const std::vector<Part>& parts);

}  // namespace heapwood::app
