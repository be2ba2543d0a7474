#include "kdtree/distributed/part.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_input.h"
#include "kdtree/split/divide.cuh"

namespace heapwood::kdtree {
namespace {

constexpr platform::SerialWarp kWarp;

/// The places of a division's references: an array for each side.
struct TwoArrays {
    Reference* sides[2];

    void put(unsigned side, std::uint32_t i, const Reference& r) const { sides[side][i] = r; }
    Reference* from(unsigned side, std::uint32_t i) const { return sides[side] + i; }
    void done(unsigned, std::uint32_t, const Reference*, std::uint32_t) const {}
};

}  // namespace

void CellReferences::reserve(std::size_t count) {
    references.reserve(count);
    triangles.reserve(count);
    numbers.reserve(count);
}

void CellReferences::append(std::span<const Reference> later,
                            std::span<const Triangle> their_triangles,
                            std::span<const std::uint32_t> their_numbers) {
    const auto before = static_cast<std::uint32_t>(triangles.size());
    for (Reference reference : later) {
        reference.primitive += before;
        references.push_back(reference);
    }
    triangles.insert(triangles.end(), their_triangles.begin(), their_triangles.end());
    numbers.insert(numbers.end(), their_numbers.begin(), their_numbers.end());
}

std::vector<Triangle> Part::triangles() const {
    return gather(*range_.scene, scale_, range_.begin, range_.end);
}

std::vector<Bins> Part::start(const TopStart& start) {
    open_.clear();
    cells_.clear();
    const std::uint32_t n = range_.end - range_.begin;
    References root(n);
    std::vector<Bins> bins(start.open);
    Bins unused;
    Bins& counted = start.open != 0 ? bins.front() : unused;
    clear_bins(kWarp, counted);
    fill_root(kWarp, triangles().data(), 0, n, root.data(), start.open != 0, counted, start.frame);
    (start.open != 0 ? open_ : cells_).push_back(std::move(root));
    return bins;
}

std::vector<Bins> Part::divide(std::span<const Decision> decisions) {
    if (decisions.size() != open_.size()) {
        throw std::invalid_argument("there are decisions on " + std::to_string(decisions.size()) +
                                    " nodes, and " + std::to_string(open_.size()) + " are open");
    }
    const std::vector<Triangle> all = triangles();
    std::vector<References> nodes = std::exchange(open_, {});
    std::vector<Bins> bins;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const References node = std::move(nodes[i]);
        divide(node, all, decisions[i], bins);
    }
    return bins;
}

void Part::divide(const References& node, const std::vector<Triangle>& triangles,
                  const Decision& decision, std::vector<Bins>& bins) {
    if (decision.split.axis == Split::kMakeLeaf) {
        cells_.push_back(node);
        return;
    }
    const auto n = static_cast<std::uint32_t>(node.size());
    const Stretch stretch{node.data(), 0, n, decision.split};
    std::uint32_t counts[2];
    count_sides(kWarp, stretch, counts);
    References sides[2] = {References(counts[0]), References(counts[1])};
    const bool open[2] = {decision.open[0] != 0, decision.open[1] != 0};
    Bins counted[2];
    for (Bins& each : counted) clear_bins(kWarp, each);
    kdtree::divide(kWarp, triangles.data(), clip_, stretch, {0, 0}, open, counted, decision.frames,
                   nullptr, TwoArrays{{sides[0].data(), sides[1].data()}});
    for (unsigned side = 0; side < 2; ++side) {
        if (open[side]) bins.push_back(counted[side]);
        (open[side] ? open_ : cells_).push_back(std::move(sides[side]));
    }
}

CellReferences Part::take(std::uint32_t cell) {
    if (cell >= cells_.size()) {
        throw std::invalid_argument("there is no cell " + std::to_string(cell) + "; there are " +
                                    std::to_string(cells_.size()));
    }
    CellReferences taken{
        .references = std::exchange(cells_[cell], {}), .triangles = {}, .numbers = {}};
    std::sort(taken.references.begin(), taken.references.end(),
              [](const Reference& a, const Reference& b) { return a.primitive < b.primitive; });
    taken.triangles.reserve(taken.references.size());
    taken.numbers.reserve(taken.references.size());
    for (Reference& reference : taken.references) {
        const std::uint32_t triangle = range_.begin + reference.primitive;
        reference.primitive = static_cast<std::uint32_t>(taken.triangles.size());
        taken.triangles.push_back(triangle_of(*range_.scene, triangle, scale_));
        taken.numbers.push_back(range_.offset + triangle);
    }
    return taken;
}

}  // namespace heapwood::kdtree
