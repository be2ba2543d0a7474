/// @file
/// The verb of a run that was divided into shards, once more: it reports on the turns of all shard
/// files.
#pragma once

#include <vector>

#include "app/cli/cli.h"
#include "app/measure/shard_file.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"

namespace heapwood::app {

/// Publishes what the verb would have, had it taken all turns itself; or, for `--resume`, notes the
/// turns where the verb goes on from, and prints its command line.
/// @param shard files of one run, by the number of their shard; all, or some for `--resume`
/// @throws UsageError, ShardFileError.
ExitCode report_merged(const MergeOptions& options, const Backends& available,
                       const std::vector<ShardFile>& files, Publisher& publisher);

}  // namespace heapwood::app
