/// @file
/// What one shard of a run leaves behind: its turns, and all that is needed to tell the results
/// without the scenes and the machine.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/base/json.h"
#include "app/base/machine.h"
#include "app/measure/shard.h"

namespace heapwood::app {

/// A file that is no shard file, or a damaged one; what() names the file and the remedy.
class ShardFileError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The turns of a shard, by app/report/schemas/shard.schema.json.
struct ShardFile {
    std::string path;  ///< of the file it was read from; not in the file
    Shard shard;
    bool complete = false;               ///< false: its run was interrupted
    std::vector<std::string> arguments;  ///< of the program
    /// The variables HEAPWOOD_..., which stand for arguments.
    std::map<std::string, std::string> environment;
    Machine machine;
    Json provenance;          ///< of its cells: program, machine with its host's name, date
    Json run;                 ///< what all shards have in common: the header of a journal
    Json input;               ///< Plan::input()
    std::vector<Json> turns;  ///< the entries of a journal

    /// The arguments but for those that are the shard's own: --shard, --json, --resume.
    std::vector<std::string> common_arguments() const;
    /// The command line of the run with options beside.
    std::string command(const std::vector<std::string>& options) const;
    /// The one that takes the turns of another shard.
    std::string command_of(unsigned number) const;
};

/// The environment's variables that stand for arguments of all shards of a run.
std::map<std::string, std::string> run_variables();

/// That a shard file is damaged, why, and what to do.
ShardFileError damaged_shard_file(const std::string& path, const std::string& why,
                                  const std::string& remedy);

/// This shard's, of which the run is known: who measured, where, when, and how it was called.
ShardFile new_shard_file(const Shard& shard, const std::vector<std::string>& arguments,
                         const Machine& machine, const Json& run);

Json shard_file_json(const ShardFile& file);

/// Reads a shard file, plain or compressed with xz or gzip.
/// @throws ShardFileError; scenes::SceneError for what cannot be read or decompressed.
ShardFile read_shard_file(const std::string& path);

}  // namespace heapwood::app
