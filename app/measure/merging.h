/// @file
/// The shards of a run put together: their turns are taken over by a plan of the whole run, which
/// nobody carries out.
#pragma once

#include <string>
#include <vector>

#include "app/measure/plan.h"
#include "app/measure/shard_file.h"

namespace heapwood::app {

/// The shard files of one run, by the number of their shard.
/// @throws ShardFileError, scenes::SceneError; UsageError if they are of different runs, or two are
/// of one shard.
std::vector<ShardFile> read_shard_files(const std::vector<std::string>& paths);

/// Which shards the run lacks, each with its command line, and which shard files were interrupted,
/// with the way to go on; nothing: all turns are there.
std::vector<std::string> lacking(const std::vector<ShardFile>& files);

/// Adds the turns of all shard files to the plan's results. Cells without turns, for their shard
/// has skipped them, are passed over; those of shards that lack stay as they are.
/// @param plan that the files' arguments and facts lead to
/// @return the shard that each cell belongs to, by the cell's number.
/// @throws UsageError if this program makes another run of them; ShardFileError for turns that
/// lack, or that no shard takes.
std::vector<unsigned> take_over(Plan& plan, const std::vector<ShardFile>& files);

}  // namespace heapwood::app
