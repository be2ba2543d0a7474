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
#include "allocators/heap/automatic_growth.h"
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
    using PartsAndBytes = heap::PartsAndBytes;

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
        core_->refusal.clear();
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
        Core& core = *core_;
        const std::lock_guard lock(core.mutex);
        core.limits = limits;
        core.refused = PartsAndBytes::kNoBytes;
        core.refusal.clear();
        if (core.growth == nullptr) {
            core.growth = std::make_unique<heap::AutomaticGrowth>(core.config.place,
                                                                  [&core] { core.serve(); });
        }
        core.tell_between_kernels();
    }
    /// Why the host last refused a part to a kernel, as a sentence; empty if it has not since the
    /// limits were set or grow() was called.
    std::string growth_refusal() const {
        const std::lock_guard lock(core_->mutex);
        return core_->refusal;
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
        ref.growth_ = {core.words.template as<heap::GrowthWords>(),
                       core.growth == nullptr ? nullptr : core.growth->mailbox(),
                       static_cast<std::uint64_t>(core.limits.patience.count())};
        ref.count_ = core.part_count();
        ref.is_alone_ = ref.count_ == 1 && core.growth == nullptr;
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
        std::uint64_t bytes = core_->table.size() + core_->words.size();
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
    struct Core {
        explicit Core(const PoolConfig& pool)
            : config(pool),
              table(pool.place, kMostParts * sizeof(Part)),
              words(pool.place, sizeof(heap::GrowthWords)) {
            parts.push_back(std::make_unique<Owned>(pool));
            tell_between_kernels();
        }
        ~Core() {
            if (growth != nullptr) growth->stop();
        }
        Core(const Core&) = delete;
        Core& operator=(const Core&) = delete;

        std::uint32_t part_count() const { return static_cast<std::uint32_t>(parts.size()); }
        std::uint64_t pool_bytes() const {
            std::uint64_t bytes = 0;
            for (const auto& part : parts) bytes += part->allocator->pool_bytes();
            return bytes;
        }
        PartsAndBytes answer() const { return {part_count(), refused}; }

        /// Makes a part and its entry in the table. Callers do not know of it yet.
        void add(std::uint64_t bytes) {
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
            refused = PartsAndBytes::kNoBytes;
        }

        /// While no kernel runs.
        void tell_between_kernels() {
            heap::GrowthWords now{};
            now.known = answer().word();
            words.write(0, &now, sizeof now);
            if (growth == nullptr) return;
            const heap::GrowthHost host{growth->mailbox()};
            host.forget_request();
            host.answer(answer());
            growth->expect_requests();
        }

        /// Makes a part if a kernel has asked for one, and answers. For the thread of the host.
        void serve() {
            const std::lock_guard lock(mutex);
            const heap::GrowthHost host{growth->mailbox()};
            const PartsAndBytes request = host.request();
            if (request.parts != part_count() || request.bytes >= refused) return;
            const heap::NextPart next(limits, part_count(), pool_bytes(),
                                      A::traits().smallest_pool);
            if (request.bytes > next.left) {
                refused = next.left + 1;
                refusal = "a request of " + std::to_string(request.bytes) +
                          " bytes needs a part beside the " + std::to_string(parts.size()) +
                          " that there are, of " + std::to_string(pool_bytes()) +
                          " bytes; the pool may have " + std::to_string(limits.most) +
                          " bytes, in at most " + std::to_string(kMostParts) + " parts";
            } else {
                try {
                    add_for(request.bytes, next);
                } catch (const std::exception& failure) {
                    // Half as much may be had: then the next request finds out.
                    refused = request.bytes / 2 + 1;
                    refusal = failure.what();
                }
            }
            host.answer(answer());
        }
        /// If memory is short the part has half the bytes, or a quarter, as long as that will do.
        void add_for(std::uint64_t request, const heap::NextPart& next) {
            for (std::uint64_t bytes = next.bytes_for(request);; bytes /= 2) {
                try {
                    add(bytes);
                    return;
                } catch (const BufferError&) {
                    if (bytes / 2 < next.least_for(request)) throw;
                }
            }
        }

        PoolConfig config;
        mutable std::mutex mutex;  ///< of what follows
        GrowthLimits limits;
        std::uint64_t refused = PartsAndBytes::kNoBytes;  ///< bytes from which on requests are
        std::string refusal;
        std::unique_ptr<heap::AutomaticGrowth> growth;  ///< whose memory the parts have
        std::vector<std::unique_ptr<Owned>> parts;      ///< in the order in which they were made
        Buffer table;
        Buffer words;
    };

    std::unique_ptr<Core> core_;
};

}  // namespace heapwood::allocators
