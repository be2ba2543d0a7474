/// @file
/// Traces for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "allocators/measure/trace.h"

namespace heapwood::tests {

/// A trace of random calls: every block may be freed by anybody, some never are.
inline allocators::Trace random_trace(std::mt19937_64& dice, std::uint32_t callers,
                                      std::size_t events) {
    allocators::Trace trace;
    trace.callers = callers;
    std::vector<std::uint32_t> live;
    std::uint32_t requests = 0;
    while (trace.events.size() < events) {
        const auto caller = static_cast<std::uint32_t>(dice() % callers);
        if (live.empty() || dice() % 5 < 3) {
            const auto bytes = static_cast<std::uint32_t>(4 + 4 * (dice() % 40));
            trace.events.push_back({caller, requests, bytes});
            live.push_back(requests++);
        } else {
            std::swap(live[dice() % live.size()], live.back());
            trace.events.push_back({caller, live.back(), 0});
            live.pop_back();
        }
    }
    return trace;
}

}  // namespace heapwood::tests
