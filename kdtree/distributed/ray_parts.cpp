#include "kdtree/distributed/ray_parts.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/platform/for_chunks.h"
#include "kdtree/rays/ray_batch.h"

namespace heapwood::kdtree {
namespace {

/// Rays that a thread takes at a time.
constexpr std::uint64_t kChunk = 1024;

bool is_before(const Hit& a, const Hit& b) {
    return !b.found() || a.t < b.t || (a.t == b.t && a.triangle < b.triangle);
}

}  // namespace

RayPart::RayPart(const Tree& tree, const scenes::Scene& scene, std::uint32_t parts,
                 std::uint32_t part)
    : RayPart(tree, scene, ray_cells(tree, parts), parts, part) {}

RayPart::RayPart(const Tree& tree, const scenes::Scene& scene, RayCells cells, std::uint32_t parts,
                 std::uint32_t part)
    : top_(cells.top), part_(part) {
    if (part >= parts) {
        throw std::invalid_argument("there is no part " + std::to_string(part) + " of " +
                                    std::to_string(parts));
    }
    for (std::uint32_t cell = 0; cell < cells.parts.size(); ++cell) {
        if (cells.parts[cell] != part) continue;
        if (cells_.empty()) first_ = cell;
        cells_.emplace_back(tree_with_cell(tree, cells, cell), scene);
    }
    parts_ = std::move(cells.parts);
}

void RayPart::trace(std::uint32_t cell, std::span<PassingRay> rays,
                    const std::vector<std::uint32_t>& places, RayQuestion question,
                    unsigned threads) const {
    const RayTree& tree = cells_[cell - first_];
    std::vector<Ray> some;
    some.reserve(places.size());
    for (const std::uint32_t place : places) {
        some.push_back(rays[place].ray);
        // What is met at the same t counts: its triangle may have the smaller number.
        if (rays[place].hit.found()) some.back().t_max = rays[place].hit.t;
        ++rays[place].passed;
    }
    if (question == RayQuestion::closest) {
        std::vector<Hit> hits(places.size());
        closest_hits(tree, some.data(), some.size(), hits.data(), {.threads = threads});
        for (std::size_t i = 0; i < places.size(); ++i) {
            Hit& known = rays[places[i]].hit;
            if (hits[i].found() && is_before(hits[i], known)) known = hits[i];
        }
    } else {
        std::vector<std::uint32_t> found(places.size());
        any_hits(tree, some.data(), some.size(), found.data(), {.threads = threads});
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (found[i] != 0) rays[places[i]].hit.triangle = 0;
        }
    }
}

void RayPart::go_on(std::span<PassingRay> rays, RayQuestion question, std::span<std::uint32_t> next,
                    unsigned threads) const {
    std::vector<std::uint32_t> cells(rays.size());
    std::vector<std::uint32_t> here(rays.size());
    for (std::uint32_t i = 0; i < here.size(); ++i) here[i] = i;
    while (!here.empty()) {
        platform::for_chunks(
            here.size(), kChunk, threads, [&](std::uint64_t begin, std::uint64_t end) {
                for (std::uint64_t k = begin; k < end; ++k) {
                    PassingRay& ray = rays[here[k]];
                    const bool answered = question == RayQuestion::any && ray.hit.found();
                    const std::uint32_t cell = answered ? RayTop::kNone : top_.next_cell(ray);
                    cells[here[k]] = cell;
                    next[here[k]] = cell == RayTop::kNone ? kNone : parts_[cell];
                }
            });
        std::vector<std::vector<std::uint32_t>> by_cell(cells_.size());
        for (const std::uint32_t place : here) {
            if (next[place] == part_) by_cell[cells[place] - first_].push_back(place);
        }
        here.clear();
        for (std::uint32_t i = 0; i < by_cell.size(); ++i) {
            if (by_cell[i].empty()) continue;
            trace(first_ + i, rays, by_cell[i], question, threads);
            here.insert(here.end(), by_cell[i].begin(), by_cell[i].end());
        }
    }
}

std::uint64_t RayPart::bytes() const {
    std::uint64_t bytes = top_.bytes();
    for (const RayTree& cell : cells_) bytes += cell.bytes();
    return bytes;
}

}  // namespace heapwood::kdtree
