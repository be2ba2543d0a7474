/// @file
/// The verb `merge`.
#include <algorithm>

#include "app/base/log.h"
#include "app/measure/merging.h"
#include "app/verbs/commands.h"
#include "app/verbs/merged_run.h"
#include "app/verbs/publish.h"

namespace heapwood::app {

ExitCode merge(const MergeOptions& options, const Backends& available) {
    Publisher publisher(options);
    const std::vector<ShardFile> files = read_shard_files(options.files);
    if (options.resume.empty()) {
        const std::vector<std::string> missing = lacking(files);
        for (const std::string& shard : missing) log::error(shard);
        if (!missing.empty()) return ExitCode::usage;
    }
    const bool gpu = files.front().machine.gpu;
    if (std::none_of(available.begin(), available.end(), [&](auto* b) { return b->gpu == gpu; })) {
        throw UsageError(
            "the shard files are of a GPU: merge with the program that measured, which has CUDA");
    }
    return report_merged(options, available, files, publisher);
}

}  // namespace heapwood::app
