#include "app/measure/shard.h"

#include <algorithm>
#include <map>
#include <utility>

namespace heapwood::app {

std::vector<unsigned> divide(const Plan& plan, unsigned shards) {
    struct Unit {
        double work = 0;
        unsigned shard = 1;
    };
    std::map<std::pair<std::size_t, std::size_t>, Unit> units;  // by account and runner
    double all = 0;
    for (const CellState& cell : plan.cells) {
        const double work = plan.work_left(cell);
        units[{cell.account, cell.runner}].work += work;
        all += work;
    }
    double before = 0;
    for (auto& [key, unit] : units) {
        const double middle = all > 0 ? (before + unit.work / 2) / all : 0;
        unit.shard = std::min(shards, 1 + static_cast<unsigned>(middle * shards));
        before += unit.work;
    }
    std::vector<unsigned> of(plan.cells.size());
    for (const CellState& cell : plan.cells) {
        of.at(cell.number) = units[{cell.account, cell.runner}].shard;
    }
    return of;
}

}  // namespace heapwood::app
