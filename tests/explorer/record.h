/// @file
/// What an exploration comes by: its atomic operations, and the steps of one execution, for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/explorer/explorer.h"

namespace heapwood::tests::explorer {

/// A file's name without its folder.
std::string base_name(const char* path);

inline bool acquires(Order o) {
    return o == Order::acquire || o == Order::acq_rel;
}
inline bool releases(Order o) {
    return o == Order::release || o == Order::acq_rel;
}

/// An atomic operation, as it was made.
struct Step {
    unsigned thread;
    const char* operation;  ///< nullptr: no step, but the begin of `text`, or its end
    const char* text;
    std::uintptr_t address;
    std::uint64_t before, after;
    unsigned age;  ///< how many values of the object are newer than the one that was read
    Order order;
    Site site;
};

/// The operations of all executions, and the steps of the last one if they are asked for.
class Record {
public:
    /// From now on steps are kept.
    void keep_steps() { keeps_ = true; }
    bool keeps_steps() const { return keeps_; }
    /// Forgets the steps of the last execution.
    void begin_execution() { steps_.clear(); }

    /// Notes an atomic operation, which loads or stores or both.
    void note(const Step& step, bool loads, bool stores, bool answers);
    void begin_operation(unsigned thread, const char* text, std::uint64_t argument);
    void end_operation(unsigned thread, std::uint64_t result);

    /// The atomic operations of the sources that the executions came by.
    std::vector<Place> places() const;
    /// The steps, a line each, with the program's names.
    std::string schedule(const Program& program) const;

private:
    bool keeps_ = false;
    std::map<std::pair<std::string, unsigned>, Place> places_;
    std::map<std::pair<const char*, unsigned>, bool> noted_;
    std::vector<Step> steps_;
};

}  // namespace heapwood::tests::explorer
