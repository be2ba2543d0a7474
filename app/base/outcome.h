/// @file
/// The outcome of a turn, and in the end of a cell, of any verb.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "app/base/exit_code.h"

namespace heapwood::app {

/// How it ended.
enum class Outcome {
    done,
    pool_exhausted,  ///< a build ended, for its pool was too small
    nodes_exhausted,
    references_exhausted,
    out_of_pool,          ///< requests of a workload were refused
    out_of_memory,        ///< the machine's memory, or more than the allocator can manage
    overwritten,          ///< the allocator ran, or would have run, over memory in use
    corrupt,              ///< blocks of a workload overlapped, or were written to by another caller
    verification_failed,  ///< of the tree, or of the pool that should be empty again
    wrong_tree,           ///< the tree differs from that of the other allocators
    hang,                 ///< no end within the time limit; the process was killed
    crashed,              ///< the process died or answered nonsense
    failed,               ///< any other error
    skipped,              ///< not tried: the budget was used up, or an earlier turn hung
    unfinished,           ///< turns are still to come
};

/// What can end in one of these ways; what is not tried, or is judged beside others, is of a cell.
enum Ending : unsigned { of_build = 1, of_workload = 2, of_process = 4, of_cell = 8 };

/// Whether it can end so: an answer that says otherwise is nonsense.
bool can_end(Ending of, Outcome how);

/// The name in JSON and CSV: "done", "pool_exhausted", ...
const char* name(Outcome outcome);

/// The names of those that what ends in these ways (of Ending, several at a time) can have, and of
/// more.
std::vector<std::string> outcome_names(unsigned of, std::initializer_list<Outcome> more = {});

/// What stands in a table where there is no figure: "out of pool", "hang"; "–" for what is done.
const char* word(Outcome outcome);

/// The outcome of that name. @throws std::invalid_argument if there is none.
Outcome outcome_named(std::string_view text);

/// In JSON it is its name.
template <class AnyJson>
void to_json(AnyJson& json, const Outcome& outcome) {
    json = name(outcome);
}
template <class AnyJson>
void from_json(const AnyJson& json, Outcome& outcome) {
    outcome = outcome_named(json.template get<std::string>());
}

/// Why something ended before it was done.
struct Failure {
    Outcome outcome;
    std::string message;
};

/// What the exception in flight means; to be called in a catch block. What users ask for has been
/// checked before: an invalid argument is a limit of the allocator or of the tree.
Failure failure_in_flight();

/// The program's exit code for it.
ExitCode exit_code(Outcome outcome);

/// The worst of these: wrong trees and lost memory, then crashes, hangs and other failures, then
/// too little memory; of equals the first. `done` if there are none.
Outcome worst(const std::vector<Outcome>& outcomes);

}  // namespace heapwood::app
