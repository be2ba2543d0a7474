/// @file
/// The host object of the Ouroboros allocators: owns the pool and its tables, and walks it.
/// core.cuh has the algorithm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/layout.h"
#include "allocators/memory/buffer.h"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/core.cuh"
#include "allocators/ouroboros/geometry.h"

namespace heapwood::allocators::ouroboros {

/// An Ouroboros allocator. Policy: policy.cuh.
template <class Policy>
class Pool {
    using Queue = typename Policy::template Queue<Policy>;

public:
    using Ref = Core<Policy>;

    static constexpr Traits traits() { return Policy::traits(); }

    explicit Pool(const PoolConfig& config)
        : geometry_(geometry_of(config)),
          largest_cached_(Policy::kCaches ? largest_cached(geometry_, config) : 0),
          list_(config, geometry_.chunk_shift),
          queues_(geometry_, config.place),
          states_(config.place, geometry_.chunks * sizeof(std::uint64_t)),
          masks_(config.place,
                 std::uint64_t{geometry_.chunks} * geometry_.mask_words() * sizeof(std::uint32_t)),
          flags_(config.place, geometry_.chunks * sizeof(std::uint32_t)),
          controls_(config.place, geometry_.shards * geometry_.classes * sizeof(Control)),
          list_words_(config.place, sizeof(ListWords)),
          collections_(config.place, sizeof(Collections)) {
        reset();
    }

    Ref ref() const {
        const Chunks<Policy> chunks(list_, geometry_, states_.template as<std::uint64_t>(),
                                    masks_.template as<std::uint32_t>(),
                                    list_words_.template as<ListWords>());
        const Queues<Policy> queues(chunks, queues_.queue(), controls_.template as<Control>());
        const Stock<Policy> stock(queues, flags_.template as<std::uint32_t>());
        const Collector<Policy> collector(OpenChunks<Policy>(stock),
                                          collections_.template as<Collections>());
        return Ref(collector, largest_cached_);
    }
    void reset() {
        list_.reset();
        queues_.reset();
        states_.zero();
        flags_.zero();
        list_words_.zero();
        collections_.zero();
        std::vector<Control> controls(geometry_.shards * geometry_.classes);
        for (std::size_t i = 0; i < controls.size(); ++i) {
            controls[i] = {};
            queues_.set(controls[i], static_cast<std::uint32_t>(i) % geometry_.classes);
        }
        controls_.write(0, controls.data(), controls_.size());
    }
    std::uint64_t pool_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return list_.overhead_bytes() + queues_.bytes() + states_.size() + masks_.size() +
               flags_.size() + controls_.size() + list_words_.size() + collections_.size();
    }

    /// Allocated regions are pages in use, or blocks of the list. Free pages next to one another in
    /// a chunk are one region. A chunk in which a queue keeps entries counts as free, for it is
    /// given back when the entries are.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<std::uint64_t> states(geometry_.chunks);
        states_.read(0, states.data(), states_.size());
        const std::vector<bool> free = free_units(states);
        list_.for_each_region([&](const Region& r) {
            const auto chunk = static_cast<std::uint32_t>(r.offset >> geometry_.chunk_shift);
            const State state(states[chunk]);
            if (!r.allocated || state.class_field() == 0) {
                visit(r);
            } else if (!state.has_pages()) {
                visit(Region{r.offset, r.size, false});
            } else {
                walk_chunk(chunk, state.class_field() - 1, free, visit);
            }
        });
    }

private:
    static Geometry geometry_of(const PoolConfig& config) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument(std::string(traits().name) + " needs a pool of at least " +
                                        std::to_string(traits().smallest_pool) + " bytes");
        }
        Geometry g = Geometry::of(config, Policy::kQueuesChunks ? 2 : 1);
        const circular::Shares shares = circular::cut_shares<ListPolicy>(
            g.chunks, g.chunk_shift, config.largest_request, config.multiprocessors);
        g.home = shares.begin + shares.size / 2;
        g.home_stride = shares.size;
        return g;
    }

    /// Bytes of the largest page that caches keep, or 0: all of them together keep at most a
    /// quarter of the pool.
    static std::uint32_t largest_cached(const Geometry& g, const PoolConfig& config) {
        const std::uint32_t classes = Cache::kinds_to_keep(
            g.classes, std::max(config.callers, 1U), config.bytes / 4,
            [&](std::uint32_t k) { return std::uint64_t{1} << k << g.unit_shift; });
        return classes == 0 ? 0 : 1U << (classes - 1) << g.unit_shift;
    }

    /// For each unit whether a free page starts there. Masks of chunks without pages are copied,
    /// too, though nothing may have written them: compute-sanitizer's initcheck reports that.
    std::vector<bool> free_units(const std::vector<std::uint64_t>& states) const {
        const Geometry& g = geometry_;
        std::vector<bool> free(std::uint64_t{g.chunks} << g.units_shift());
        std::vector<std::uint32_t> masks(masks_.size() / sizeof(std::uint32_t));
        masks_.read(0, masks.data(), masks_.size());
        for (std::uint32_t chunk = 0; chunk < g.chunks; ++chunk) {
            const State state(states[chunk]);
            if (!state.has_pages()) continue;
            const std::uint32_t k = state.class_field() - 1;
            const std::uint32_t* mask = &masks[std::size_t{chunk} * g.mask_words()];
            for (std::uint32_t page = 0; page < g.pages(k); ++page) {
                if ((mask[page / 32] >> page % 32 & 1) != 0) free[g.unit_of(chunk, page, k)] = true;
            }
        }
        if constexpr (!Policy::kQueuesChunks) {
            std::vector<Control> controls(g.shards * g.classes);
            controls_.read(0, controls.data(), controls_.size());
            for (std::uint32_t shard = 0; shard < g.shards; ++shard) {
                for (std::uint32_t k = 0; k < g.classes; ++k) {
                    const Control& c = controls[g.queue(k, shard)];
                    queues_.for_each_entry(c, k, shard, list_.pool(),
                                           [&](std::uint32_t unit) { free[unit] = true; });
                    if (c.open >> 32 == 0) continue;
                    const auto chunk = static_cast<std::uint32_t>(c.open >> 32) - 1;
                    for (auto page = static_cast<std::uint32_t>(c.open); page < g.stretch_pages(k);
                         ++page) {
                        free[g.unit_of_stretch(chunk, page, k)] = true;
                    }
                }
            }
        }
        return free;
    }

    template <class Visitor>
    void walk_chunk(std::uint32_t chunk, std::uint32_t k, const std::vector<bool>& free,
                    Visitor&& visit) const {
        const std::uint32_t pages = geometry_.pages(k);
        for (std::uint32_t page = 0; page < pages;) {
            const std::uint32_t first = page;
            const std::uint32_t unit = geometry_.unit_of(chunk, first, k);
            const bool is_free = free[unit];
            for (++page; is_free && page < pages; ++page) {
                if (!free[geometry_.unit_of(chunk, page, k)]) break;
            }
            visit(Region{std::uint64_t{unit} << geometry_.unit_shift,
                         std::uint64_t{(page - first) << k} << geometry_.unit_shift, !is_free});
        }
    }

    Geometry geometry_;
    std::uint32_t largest_cached_;
    typename Chunks<Policy>::List list_;
    typename Queue::Host queues_;
    Buffer states_;
    Buffer masks_;
    Buffer flags_;
    Buffer controls_;
    Buffer list_words_;
    Buffer collections_;
};

}  // namespace heapwood::allocators::ouroboros
