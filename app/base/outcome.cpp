#include "app/base/outcome.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>

#include "allocators/memory/buffer.h"

namespace heapwood::app {
namespace {

using enum ExitCode;

/// All that is known of an outcome.
struct Entry {
    const char* name;
    const char* word;
    ExitCode code;
    unsigned endings;  ///< of what: several of Ending
};

/// In the order of Outcome.
constexpr Entry kEntries[] = {
    {"done", "–", done, of_build | of_workload},
    {"pool_exhausted", "out of pool", out_of_memory, of_build},
    {"nodes_exhausted", "out of nodes", out_of_memory, of_build},
    {"references_exhausted", "out of references", out_of_memory, of_build},
    {"out_of_pool", "out of pool", out_of_memory, of_workload},
    {"out_of_memory", "out of memory", out_of_memory, of_build | of_workload},
    {"overwritten", "overwritten", out_of_memory, of_build},
    {"corrupt", "overwritten", verification_failed, of_workload},
    {"verification_failed", "verification failed", verification_failed, of_build},
    {"wrong_tree", "wrong tree", verification_failed, of_cell},
    {"hang", "hang", internal, of_process},
    {"crashed", "crashed", internal, of_process},
    {"failed", "failed", internal, of_build | of_workload | of_process},
    {"skipped", "skipped", done, of_cell},
    {"unfinished", "unfinished", internal, of_cell},
};
static_assert(std::size(kEntries) == static_cast<std::size_t>(Outcome::unfinished) + 1);

const Entry& entry(Outcome outcome) {
    return kEntries[static_cast<std::size_t>(outcome)];
}

/// From the best to the worst.
constexpr ExitCode kBySeverity[] = {done, out_of_memory, internal, verification_failed};

const ExitCode* severity(Outcome outcome) {
    return std::find(std::begin(kBySeverity), std::end(kBySeverity), exit_code(outcome));
}

}  // namespace

bool can_end(Ending of, Outcome how) {
    return (entry(how).endings & of) != 0;
}

std::vector<std::string> outcome_names(unsigned of, std::initializer_list<Outcome> more) {
    std::vector<std::string> names;
    for (const Entry& entry : kEntries) {
        if ((entry.endings & of) != 0) names.emplace_back(entry.name);
    }
    for (const Outcome outcome : more) names.emplace_back(entry(outcome).name);
    return names;
}

const char* name(Outcome outcome) {
    return entry(outcome).name;
}

const char* word(Outcome outcome) {
    return entry(outcome).word;
}

Outcome outcome_named(std::string_view text) {
    const auto* found = std::find_if(std::begin(kEntries), std::end(kEntries),
                                     [&](const Entry& one) { return text == one.name; });
    if (found == std::end(kEntries))
        throw std::invalid_argument("no outcome: " + std::string(text));
    return static_cast<Outcome>(found - std::begin(kEntries));
}

Failure failure_in_flight() {
    try {
        throw;
    } catch (const Failure& failure) {
        return failure;
    } catch (const std::invalid_argument& error) {
        return {Outcome::out_of_memory, error.what()};
    } catch (const allocators::BufferError& error) {
        return {Outcome::out_of_memory, error.what()};
    } catch (const std::bad_alloc&) {
        return {Outcome::out_of_memory,
                "the machine's memory ran out; try a smaller pool or a smaller input"};
    } catch (const std::exception& error) {
        return {Outcome::failed, error.what()};
    }
}

ExitCode exit_code(Outcome outcome) {
    return entry(outcome).code;
}

Outcome worst(const std::vector<Outcome>& outcomes) {
    const auto found = std::max_element(outcomes.begin(), outcomes.end(), [](Outcome a, Outcome b) {
        return severity(a) < severity(b);
    });
    return found == outcomes.end() ? Outcome::done : *found;
}

}  // namespace heapwood::app
