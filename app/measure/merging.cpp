#include "app/measure/merging.h"

#include <algorithm>

#include "app/base/exit_code.h"
#include "app/base/text.h"
#include "app/measure/engine.h"
#include "app/measure/journal.h"
#include "app/measure/ledger.h"

namespace heapwood::app {
namespace {

/// All that the shard files of a run have in common, as far as it could differ. How much memory a
/// machine can still give is its own affair, but the pool of a replay follows from it.
Json common(const ShardFile& file) {
    Json all = file.run;
    for (const auto& [key, value] : file.run.at("adopted").items()) {
        if (key != "memory") all[key] = value;
    }
    Machine machine = file.machine;
    machine.memory = 0;
    all["device"] = machine.text();
    std::vector<std::string> arguments = file.common_arguments();
    arguments.erase(arguments.begin());  // where the program lies
    all["arguments"] = arguments;
    all["number of shards"] = file.shard.of;
    all["input"] = file.input;
    return all;
}

void check_same_run(const ShardFile& one, const ShardFile& other) {
    const std::vector<std::string> different = differences(common(one), common(other));
    if (different.empty()) return;
    throw UsageError(
        "'" + other.path + "' is of another run than '" + one.path + "': they differ in " +
        joined(different, ", ") +
        "; give the shard files of one run, or call: " + one.command_of(other.shard.number));
}

void check_numbers(const std::vector<ShardFile>& sorted) {
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), [](auto& a, auto& b) {
        return a.shard.number == b.shard.number;
    });
    if (twice == sorted.end()) return;
    throw UsageError("'" + twice->path + "' and '" + (twice + 1)->path + "' are both of shard " +
                     std::to_string(twice->shard.number) + ": leave one out");
}

ShardFileError damaged(const ShardFile& file, const std::string& why) {
    return damaged_shard_file(file.path, why, "call again: " + file.command_of(file.shard.number));
}

/// Adds the turns of one shard file, all of which must be of its cells.
void take_over(Plan& plan, Ledger& ledger, const ShardFile& file,
               const std::vector<unsigned>& shard) {
    try {
        plan.adopt(file.run.at("adopted"));
        for (const Json& entry : file.turns) {
            if (shard.at(ledger.replay(entry).number) != file.shard.number) {
                throw std::invalid_argument("a turn of another shard");
            }
        }
    } catch (const std::exception& error) {
        throw damaged(file, error.what());
    }
}

/// Passes over the cells that the file's shard has skipped.
void settle(Plan& plan, Ledger& ledger, const ShardFile& file, const std::vector<unsigned>& shard) {
    for (CellState& cell : plan.cells) {
        if (shard[cell.number] != file.shard.number) continue;
        if (!cell.over) {
            const std::string why = ledger.refusal(cell);
            if (why.empty()) throw damaged(file, "turns are missing");
            ledger.pass_over(cell, why);
        }
        if (!cell.searched) throw damaged(file, "what a search has found is missing");
    }
}

}  // namespace

std::vector<ShardFile> read_shard_files(const std::vector<std::string>& paths) {
    std::vector<ShardFile> files;
    for (const std::string& path : paths) files.push_back(read_shard_file(path));
    for (const ShardFile& file : files) check_same_run(files.front(), file);
    std::sort(files.begin(), files.end(), [](const ShardFile& a, const ShardFile& b) {
        return a.shard.number < b.shard.number;
    });
    check_numbers(files);
    return files;
}

std::vector<std::string> lacking(const std::vector<ShardFile>& files) {
    std::vector<std::string> all;
    auto file = files.begin();
    for (unsigned number = 1; number <= files.front().shard.of; ++number) {
        const std::string shard =
            "shard " + std::to_string(number) + " of " + std::to_string(files.front().shard.of);
        if (file == files.end() || file->shard.number != number) {
            all.push_back(shard + " is missing; call: " + files.front().command_of(number));
            continue;
        }
        if (!file->complete) {
            all.push_back(shard + " was interrupted ('" + file->path +
                          "'); go on with the same command and --resume " + file->path +
                          ".partial, or begin again: " + file->command_of(number));
        }
        ++file;
    }
    return all;
}

std::vector<unsigned> take_over(Plan& plan, const std::vector<ShardFile>& files) {
    const std::vector<std::string> different = differences(header_of(plan), files.front().run);
    if (!different.empty()) {
        throw UsageError(
            "the shard files are not what this program makes of their arguments, which differs "
            "in: " +
            joined(different, ", ") + "; merge with the program that measured");
    }
    std::vector<unsigned> shard = divide(plan, files.front().shard.of);
    Ledger ledger(plan);
    for (const ShardFile& file : files) take_over(plan, ledger, file, shard);
    for (const ShardFile& file : files) {
        if (file.complete) settle(plan, ledger, file, shard);
    }
    return shard;
}

}  // namespace heapwood::app
