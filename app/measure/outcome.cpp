#include "app/measure/outcome.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace heapwood::app {
namespace {

/// All that is known of an outcome.
struct Entry {
    const char* name;
    const char* word;
    ExitCode code;
};

Entry entry(Outcome outcome) {
    switch (outcome) {
        case Outcome::done:
            return {"done", "–", ExitCode::done};
        case Outcome::pool_exhausted:
            return {"pool_exhausted", "out of pool", ExitCode::out_of_memory};
        case Outcome::nodes_exhausted:
            return {"nodes_exhausted", "out of nodes", ExitCode::out_of_memory};
        case Outcome::references_exhausted:
            return {"references_exhausted", "out of references", ExitCode::out_of_memory};
        case Outcome::out_of_pool:
            return {"out_of_pool", "out of pool", ExitCode::out_of_memory};
        case Outcome::out_of_memory:
            return {"out_of_memory", "out of memory", ExitCode::out_of_memory};
        case Outcome::overwritten:
            return {"overwritten", "overwritten", ExitCode::out_of_memory};
        case Outcome::corrupt:
            return {"corrupt", "overwritten", ExitCode::verification_failed};
        case Outcome::verification_failed:
            return {"verification_failed", "verification failed", ExitCode::verification_failed};
        case Outcome::wrong_tree:
            return {"wrong_tree", "wrong tree", ExitCode::verification_failed};
        case Outcome::hang:
            return {"hang", "hang", ExitCode::internal};
        case Outcome::crashed:
            return {"crashed", "crashed", ExitCode::internal};
        case Outcome::failed:
            break;
        case Outcome::skipped:
            return {"skipped", "skipped", ExitCode::done};
        case Outcome::unfinished:
            return {"unfinished", "unfinished", ExitCode::internal};
    }
    return {"failed", "failed", ExitCode::internal};
}

int weight(Outcome outcome) {
    switch (exit_code(outcome)) {
        case ExitCode::done:
            return 0;
        case ExitCode::out_of_memory:
            return 1;
        case ExitCode::verification_failed:
            return 3;
        default:
            return 2;
    }
}

}  // namespace

const char* name(Outcome outcome) {
    return entry(outcome).name;
}

const char* word(Outcome outcome) {
    return entry(outcome).word;
}

ExitCode exit_code(Outcome outcome) {
    return entry(outcome).code;
}

Outcome worst(const std::vector<Outcome>& outcomes) {
    const auto found = std::max_element(outcomes.begin(), outcomes.end(),
                                        [](Outcome a, Outcome b) { return weight(a) < weight(b); });
    return found == outcomes.end() ? Outcome::done : *found;
}

Outcome outcome_named(std::string_view text) {
    for (const Outcome outcome : kOutcomes) {
        if (text == name(outcome)) return outcome;
    }
    throw std::invalid_argument("no outcome: " + std::string(text));
}

}  // namespace heapwood::app
