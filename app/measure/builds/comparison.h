/// @file
/// The results of `compare`: many allocators on many scenes with several pools, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/measure/builds/report.h"

namespace heapwood::app {

/// One scene with one pool: a result for every allocator; a result still to come is unfinished.
struct Group {
    std::size_t scene = 0;  ///< its number
    std::string pool;       ///< as asked for, "200x"; "default" without --pool
    Report report;
    /// The pool with which atomicmalloc took report.baseline_ms.
    std::string baseline_pool;
};

/// All results of one call of `compare`.
struct Comparison {
    Report common;  ///< where it is from and how it ran; no scene, no result
    ComparisonOptions options;
    std::vector<std::string> pools;  ///< the groups' pools, in the order of the command line
    /// A report for each scene that says what is known of it; without results.
    std::vector<Report> scenes;
    std::vector<Group> groups;  ///< by scene, then by pool
};

/// Takes another turn into a result: its times are added; all else is replaced, but for what only
/// the first turn counts and verifies. A turn that fails, or makes another tree, ends the result as
/// it says. After `repeat` times the result is done.
void add_turn(Result& result, Result turn, unsigned repeat);

/// Whether no turn of it is left.
bool settled(const Result& result);

/// Whether no turn of any allocator is left.
bool complete(const Comparison& comparison);

/// Settles what can be seen only once all is there: marks trees that differ from the scene's true
/// one as wrong, and gives groups in which atomicmalloc failed its time with the scene's first pool
/// where it did not. The true tree is a verified one, else atomicmalloc's, else that of most
/// allocators and pools; if as many have another, nobody's.
void judge(Comparison& comparison);

/// The number of the group's fastest full allocator, if any is done.
std::optional<std::size_t> fastest_full(const Group& group);

/// Exit code of the worst that happened: wrong trees and lost memory, then builds that crashed,
/// hung or failed, then those without enough memory.
ExitCode verdict(const Comparison& comparison);

/// How many cells have no figures, and why one of the worst has none.
std::string summary(const Comparison& comparison);

}  // namespace heapwood::app
