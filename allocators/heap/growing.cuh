/// @file
/// Growing: an allocator whose pool can be made larger while its blocks stay where they are.
///
/// **Structure.** The pool is up to kMostParts parts, each a pool of its own of the allocator that
/// is wrapped. A request goes to the part that answered the last one, and if that refuses it, to
/// the others. A block returns to the part in whose range its address lies; the first part is
/// known to every Ref, the others are looked up in a table. So a heap that has not grown costs one
/// comparison a free.
///
/// **Growth.** grow() adds a part between kernels. After grow_automatically() a thread of the host
/// adds one while a kernel runs, when a request is refused (growth_words.cuh has the protocol).
///
/// The host makes such a part wholly, tables and all, before a caller hears of it. The kernel may
/// fill the GPU and wait, so nothing of that may need a multiprocessor or wait for the kernel: the
/// memory comes from virtual memory calls, and what the allocator writes at its start goes by a
/// copy engine (memory/beside_kernels.h). This serves every allocator, because all of them write
/// through Buffers. The other design, parts that are made beforehand and whose pools are mapped
/// later, needs no copies. But it has the tables of all parts from the start, three quarters of the
/// pool with some allocators, and does not serve those that write into their pools. An allocator
/// that starts by a kernel of its own can grow between kernels only.
///
/// **What it cannot do.** A block lies in one part: none is larger than the largest part.
///
/// **Concurrency.** An entry of the table is written once, before callers hear of its part. The
/// word that tells where to begin is a hint. A caller stores only a part there that it knows of, by
/// a release, and one that finds a part newer than its Ref acquires it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/heap/growing_pool.h"
#include "allocators/heap/growing_ref.cuh"
#include "allocators/heap/needed.h"
#include "allocators/measure/adaptor.h"
#include "allocators/memory/buffer.h"
#include "allocators/memory/source.h"

namespace heapwood::allocators {

/// An allocator that can grow. Behaves as A in all else.
template <CanGrow A>
class Growing {
    using Part = heap::PartEntry<A>;

public:
    /// Parts that a pool can have.
    static constexpr std::uint32_t kMostParts = heap::kMostParts;

    static constexpr Traits traits() { return A::traits(); }

    using Ref = GrowingRef<A>;

    explicit Growing(const PoolConfig& config) : core_(std::make_unique<Core>(config)) {}

    /// Adds a part of `bytes` bytes, made as the first one. Blocks stay where they are and Refs
    /// made before stay valid; one that was made when there was a single part may not know the new
    /// one. Only while no kernel uses the pool.
    /// @throws as A's constructor, and std::length_error if there are kMostParts parts; then
    ///     nothing has changed
    void grow(std::uint64_t bytes) {
        const std::lock_guard lock(core_->mutex);
        core_->add(bytes);
        core_->forget_refusals();
        core_->tell_between_kernels();
    }

    /// From now on the pool also grows while a kernel uses it. Only while no kernel does. Refs that
    /// were made before do not make it grow. A second call changes the limits.
    ///
    /// A call that no part can serve waits while the host makes another one, for a bounded time;
    /// if the limits or the memory do not allow a part it is refused at once. New parts are the
    /// system's memory, also if the pool lies in memory that was given.
    /// @throws std::runtime_error if the device has no virtual memory calls, with a sentence that
    ///     says so: the pool then grows between kernels only
    void grow_automatically(const GrowthLimits& limits) {
        const std::lock_guard lock(core_->mutex);
        core_->set_limits(limits);
        core_->tell_between_kernels();
    }
    /// Why the host last refused a part to a kernel, as a sentence; empty if it has not since the
    /// limits were set or grow() was called.
    std::string growth_refusal() const {
        const std::lock_guard lock(core_->mutex);
        return core_->refusal();
    }

    /// Makes one part of all of them, so that callers' caches serve the whole pool. Frees all
    /// blocks. Handles of before are invalid. Only while no kernel uses the pool. If there is no
    /// such memory the pool is as it was made.
    void unite_parts() {
        const std::lock_guard lock(core_->mutex);
        core_->unite_parts();
        core_->tell_between_kernels();
    }

    /// How many parts there are.
    std::uint32_t part_count() const {
        const std::lock_guard lock(core_->mutex);
        return core_->part_count();
    }

    /// May be called while the pool grows.
    Ref ref() const {
        const Core& core = *core_;
        const std::lock_guard lock(core.mutex);
        Ref ref;
        ref.first_ = core.parts.front()->entry();
        ref.parts_ = core.table.template as<const Part>();
        ref.growth_ = core.caller();
        ref.count_ = core.part_count();
        ref.begins_with_first_ =
            ref.count_ == 1 && (ref.growth_.mailbox == nullptr || core.is_ample());
        return ref;
    }
    void reset() {
        const std::lock_guard lock(core_->mutex);
        for (const auto& part : core_->parts) part->allocator->reset();
        core_->tell_between_kernels();
    }
    std::uint64_t pool_bytes() const {
        const std::lock_guard lock(core_->mutex);
        return core_->pool_bytes();
    }
    std::uint64_t overhead_bytes() const {
        const std::lock_guard lock(core_->mutex);
        std::uint64_t bytes = core_->table.size() + core_->words_bytes();
        for (const auto& part : core_->parts) bytes += part->allocator->overhead_bytes();
        return bytes;
    }
    /// The parts' regions, part by part: offsets as if the parts lay one behind the other.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        const std::lock_guard lock(core_->mutex);
        std::uint64_t before = 0;
        for (const auto& part : core_->parts) {
            std::as_const(*part->allocator).for_each_region([&visit, before](const Region& region) {
                visit(Region{before + region.offset, region.size, region.allocated});
            });
            before += part->allocator->pool_bytes();
        }
    }
    // clang-format off
    /// As A's, where it has one: the first part that has something to say.
    std::string failure_note() const requires RefusesToOverwrite<A> {
        // clang-format on
        const std::lock_guard lock(core_->mutex);
        for (const auto& part : core_->parts) {
            if (std::string note = std::as_const(*part->allocator).failure_note(); !note.empty())
                return note;
        }
        return {};
    }

private:
    /// A part and its memory: one range, so that an address tells the part.
    struct Owned {
        explicit Owned(const PoolConfig& config)
            : memory(config.place, needed_for<A>(config)),
              given(config.place, memory.data(), memory.size()) {
            const SourceScope scope(given);
            allocator = std::make_unique<A>(config);
        }
        Part entry() const {
            const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
            return {allocator->ref(), begin, begin + memory.size()};
        }

        Buffer memory;
        GivenMemory given;
        std::unique_ptr<A> allocator;
    };

    /// All that there is, where the thread of the host finds it when the owner has moved.
    struct Core final : heap::GrowingPool {
        explicit Core(const PoolConfig& pool)
            : GrowingPool(pool.place), config(pool), table(pool.place, kMostParts * sizeof(Part)) {
            parts.push_back(std::make_unique<Owned>(pool));
            tell_between_kernels();
        }
        ~Core() { stop(); }
        using GrowingPool::forget_refusals;

        std::uint32_t part_count() const override {
            return static_cast<std::uint32_t>(parts.size());
        }
        std::uint64_t pool_bytes() const override {
            std::uint64_t bytes = 0;
            for (const auto& part : parts) bytes += part->allocator->pool_bytes();
            return bytes;
        }
        std::uint64_t smallest_part() const override { return A::traits().smallest_pool; }
        /// Makes a part and its entry in the table.
        void add(std::uint64_t bytes) override {
            if (parts.size() == kMostParts) {
                throw std::length_error("a pool can grow " + std::to_string(kMostParts - 1) +
                                        " times, and this one has; grow it by more at a time");
            }
            PoolConfig of_part = config;
            of_part.bytes = bytes;
            auto part = std::make_unique<Owned>(of_part);
            const Part entry = part->entry();
            table.write(parts.size() * sizeof(Part), &entry, sizeof entry);
            parts.push_back(std::move(part));
        }

        /// Whether the pool hardly refuses a request of those that it was made for.
        bool is_ample() const {
            constexpr std::uint64_t kAmple = 48;  // as cambium's
            return config.largest_request > 0 && pool_bytes() / config.largest_request >= kAmple;
        }
        void unite_parts() {
            PoolConfig whole = config;
            whole.bytes = pool_bytes();
            parts.clear();  // there may be no room for both
            try {
                parts.push_back(std::make_unique<Owned>(whole));
            } catch (const BufferError&) {
                parts.push_back(std::make_unique<Owned>(config));
            }
        }

        PoolConfig config;
        std::vector<std::unique_ptr<Owned>> parts;  ///< in the order in which they were made
        Buffer table;
    };

    std::unique_ptr<Core> core_;
};

}  // namespace heapwood::allocators
