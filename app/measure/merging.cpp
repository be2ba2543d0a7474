#include "app/measure/merging.h"

#include <algorithm>

#include "app/base/exit_code.h"
#include "app/base/text.h"
#include "app/measure/engine.h"
#include "app/measure/journal.h"
#include "app/measure/ledger.h"

namespace heapwood::app {
namespace {

/// All that the parts of a run have in common, as far as it could differ. How much memory a machine
/// can still give is its own affair, but the pool of a replay follows from it.
Json common(const Part& part) {
    Json all = part.run;
    for (const auto& [key, value] : part.run.at("adopted").items()) {
        if (key != "memory") all[key] = value;
    }
    Machine machine = part.machine;
    machine.memory = 0;
    all["device"] = machine.text();
    std::vector<std::string> arguments = part.common_arguments();
    arguments.erase(arguments.begin());  // where the program lies
    all["arguments"] = arguments;
    all["number of shards"] = part.shard.of;
    all["input"] = part.input;
    return all;
}

void check_same_run(const Part& one, const Part& other) {
    const std::vector<std::string> different = differences(common(one), common(other));
    if (different.empty()) return;
    throw UsageError("'" + other.path + "' is of another run than '" + one.path +
                     "': they differ in " + joined(different, ", ") +
                     "; give the parts of one run, or call: " + one.command_of(other.shard.number));
}

void check_numbers(const std::vector<Part>& sorted) {
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), [](auto& a, auto& b) {
        return a.shard.number == b.shard.number;
    });
    if (twice == sorted.end()) return;
    throw UsageError("'" + twice->path + "' and '" + (twice + 1)->path + "' are both of shard " +
                     std::to_string(twice->shard.number) + ": leave one out");
}

PartError damaged(const Part& part, const std::string& why) {
    return damaged_part(part.path, why, "call again: " + part.command_of(part.shard.number));
}

/// Adds the turns of one part, all of which must be of its cells.
void take_over(Plan& plan, Ledger& ledger, const Part& part, const std::vector<unsigned>& shard) {
    try {
        plan.adopt(part.run.at("adopted"));
        for (const Json& entry : part.turns) {
            if (shard.at(ledger.replay(entry).number) != part.shard.number) {
                throw std::invalid_argument("a turn of another shard");
            }
        }
    } catch (const std::exception& error) {
        throw damaged(part, error.what());
    }
}

/// Passes over the cells that the part's shard has skipped.
void settle(Plan& plan, Ledger& ledger, const Part& part, const std::vector<unsigned>& shard) {
    for (CellState& cell : plan.cells) {
        if (shard[cell.number] != part.shard.number) continue;
        if (!cell.over) {
            const std::string why = ledger.refusal(cell);
            if (why.empty()) throw damaged(part, "turns are missing");
            ledger.pass_over(cell, why);
        }
        if (!cell.searched) throw damaged(part, "what a search has found is missing");
    }
}

}  // namespace

std::vector<Part> read_parts(const std::vector<std::string>& paths) {
    std::vector<Part> parts;
    for (const std::string& path : paths) parts.push_back(read_part(path));
    for (const Part& part : parts) check_same_run(parts.front(), part);
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.shard.number < b.shard.number; });
    check_numbers(parts);
    return parts;
}

std::vector<std::string> lacking(const std::vector<Part>& parts) {
    std::vector<std::string> all;
    auto part = parts.begin();
    for (unsigned number = 1; number <= parts.front().shard.of; ++number) {
        const std::string shard =
            "shard " + std::to_string(number) + " of " + std::to_string(parts.front().shard.of);
        if (part == parts.end() || part->shard.number != number) {
            all.push_back(shard + " is missing; call: " + parts.front().command_of(number));
            continue;
        }
        if (!part->complete) {
            all.push_back(shard + " was interrupted ('" + part->path +
                          "'); go on with the same command and --resume " + part->path +
                          ".partial, or begin again: " + part->command_of(number));
        }
        ++part;
    }
    return all;
}

std::vector<unsigned> take_over(Plan& plan, const std::vector<Part>& parts) {
    const std::vector<std::string> different = differences(header_of(plan), parts.front().run);
    if (!different.empty()) {
        throw UsageError(
            "the parts are not what this program makes of their arguments, which differs in: " +
            joined(different, ", ") + "; merge with the program that measured");
    }
    const std::vector<unsigned> shard = divide(plan, parts.front().shard.of);
    Ledger ledger(plan);
    for (const Part& part : parts) take_over(plan, ledger, part, shard);
    for (const Part& part : parts) {
        if (part.complete) settle(plan, ledger, part, shard);
    }
    return shard;
}

}  // namespace heapwood::app
