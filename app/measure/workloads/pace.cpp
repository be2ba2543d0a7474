#include "app/measure/workloads/pace.h"

#include <algorithm>
#include <utility>

#include "app/measure/workloads/transfer.h"

namespace heapwood::app {

Pace::Pace(allocators::Place place, std::vector<std::uint64_t> due)
    : due_(std::move(due)),
      due_there_(uploaded(place, due_)),
      begun_(place, due_.size() * sizeof(std::uint64_t)),
      start_(place, sizeof(std::uint64_t)) {}

void Pace::apply(allocators::Workload& launch) {
    begun_.zero();
    start_.zero();
    launch.due = due_there_.as<std::uint64_t>();
    launch.begun = begun_.as<std::uint64_t>();
    launch.start = start_.as<std::uint64_t>();
}

Behind Pace::behind() const {
    return app::behind(due_, downloaded<std::uint64_t>(begun_));
}

Behind behind(const std::vector<std::uint64_t>& due, const std::vector<std::uint64_t>& begun) {
    std::vector<std::uint64_t> late;
    for (std::size_t i = 0; i < due.size(); ++i) {
        if (due[i] != allocators::ReplayStep::kAnyTime) late.push_back(begun[i] - due[i]);
    }
    std::sort(late.begin(), late.end());
    const auto at = [&](std::size_t percent) {
        const std::size_t rank = (late.size() * percent + 99) / 100;  // from 1 on
        return static_cast<double>(late[rank - 1]) * 1e-6;
    };
    return {.median = at(50), .p99 = at(99), .worst = at(100)};
}

}  // namespace heapwood::app
