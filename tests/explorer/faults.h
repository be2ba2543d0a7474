/// @file
/// Injected faults: how the explorer's tests see that they would notice.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <initializer_list>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tests/explorer/explorer.h"

namespace heapwood::tests::explorer {

/// Atomic operations, by file and line.
using Places = std::map<std::pair<std::string, unsigned>, Place>;

/// Adds what an exploration came by in one of `files`.
inline void add_places(Places& places, const Result& result,
                       std::initializer_list<std::string_view> files) {
    for (const Place& p : result.places) {
        for (const std::string_view file : files) {
            if (p.file == file) places.try_emplace({p.file, p.line}, p);
        }
    }
}

inline const char* name_of(Fault fault) {
    switch (fault) {
        case Fault::no_acquire:
            return "no acquire";
        case Fault::no_release:
            return "no release";
        case Fault::torn:
            return "torn";
        case Fault::lost:
            return "lost";
        case Fault::late:
            return "late";
        default:
            return "none";
    }
}

/// Whether a place can be broken in this way.
inline bool applies(Fault fault, const Place& p) {
    switch (fault) {
        case Fault::no_acquire:
            return p.acquires;
        case Fault::no_release:
            return p.releases;
        case Fault::torn:
            return p.loads && p.stores;
        case Fault::lost:
            return p.stores;
        case Fault::late:
            return p.stores && !p.answers && !p.acquires && !p.releases;
        default:
            return false;
    }
}

/// Whether an exploration finds something, in a process of its own, for a broken allocator may
/// bring it down.
template <class Exploration>
bool breaks(const Exploration& exploration) {
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) _exit(exploration().found() ? 1 : 0);
    int status = 0;
    if (waitpid(child, &status, 0) != child) throw std::runtime_error("no process to wait for");
    return status != 0;
}

/// The name of the first scenario whose exploration breaks; "": none does.
template <class Scenarios, class Exploration>
std::string first_broken(const Scenarios& scenarios, const Exploration& exploration) {
    for (const auto& s : scenarios) {
        if (breaks([&] { return exploration(s); })) return s.name;
    }
    return "";
}

/// Breaks each place in every way of `faults` that applies to it, one at a time, and prints what
/// comes of it. @param finding explores with a mutation; "" if nothing is found
/// @return how many faults of each kind are found; of Fault::none, how many are not
inline std::map<Fault, unsigned> break_each(
    const Places& places, const std::function<std::string(const Mutation&)>& finding,
    std::initializer_list<Fault> faults = {Fault::no_acquire, Fault::no_release, Fault::torn}) {
    std::map<Fault, unsigned> count;
    for (const auto& [key, place] : places) {
        for (const Fault fault : faults) {
            if (!applies(fault, place)) continue;
            const std::string found = finding({fault, place.file, place.line});
            ++count[found.empty() ? Fault::none : fault];
            std::cout << "  " << place.file << ":" << place.line << " " << place.operation << ", "
                      << name_of(fault) << ": " << (found.empty() ? "not found" : found) << "\n";
        }
    }
    return count;
}

}  // namespace heapwood::tests::explorer
