/// @file
/// Growing: an allocator whose pool can be made larger while its blocks stay where they are.
///
/// **Structure.** The pool is up to kMostParts parts, each a pool of its own of the allocator that
/// is wrapped. A request goes to the part that answered the last one, and if that refuses it, to
/// the others. A block returns to the part in whose range its address lies; the first part is
/// known to every Ref, the others are looked up in a table. So a heap that has not grown costs one
/// comparison a free.
///
/// **What it cannot do.** A block lies in one part: none is larger than the largest part.
///
/// **Concurrency.** The table changes only while no kernel uses the pool. The word that tells where
/// to begin is a hint; nothing is published by it, so it is relaxed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/heap/needed.h"
#include "allocators/measure/adaptor.h"
#include "allocators/memory/buffer.h"
#include "allocators/memory/source.h"
#include "allocators/platform/atomic.cuh"

namespace heapwood::allocators {

/// Whether a process may have several pools of A, so that it can grow.
template <class A>
concept CanGrow = Allocator<A> && !A::traits().one_heap && !A::traits().one_at_a_time;

/// An allocator that can grow. Behaves as A in all else.
template <CanGrow A>
class Growing {
    /// A part, as kernels see it.
    struct Part {
        typename A::Ref ref;
        std::uint64_t begin;  ///< address of its first byte
        std::uint64_t end;
    };

public:
    /// Parts that a pool can have.
    static constexpr std::uint32_t kMostParts = 32;

    static constexpr Traits traits() { return A::traits(); }

    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
            if (count_ == 1) return first_.ref.allocate(context, bytes);
            return allocate_in_any(context, bytes);
        }
        HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
            if (p == nullptr) return;
            if (has(first_, p)) {
                first_.ref.deallocate(context, p, bytes);
            } else {
                part_of(p).ref.deallocate(without_cache(context), p, bytes);
            }
        }
        HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            if (p == nullptr) return 0;
            return (has(first_, p) ? first_ : part_of(p)).ref.granted_bytes(p, bytes);
        }
        HEAPWOOD_FN void flush(const Context& context) const {
            allocators::flush(first_.ref, context);
        }

    private:
        friend class Growing;

        HEAPWOOD_INLINE static bool has(const Part& part, const void* p) {
            const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(p));
            return address >= part.begin && address < part.end;
        }
        /// A cache serves one pool: the first part.
        HEAPWOOD_INLINE static Context without_cache(const Context& context) {
            return {context.multiprocessor, context.warp};
        }
        /// The part of a block that is not of the first one.
        HEAPWOOD_FN const Part& part_of(const void* p) const {
            std::uint32_t i = 1;
            while (i + 1 < count_ && !has(parts_[i], p)) ++i;
            return parts_[i];
        }
        HEAPWOOD_NOINLINE void* allocate_in_any(Context context, std::size_t bytes) const {
            const platform::AtomicRef last(*last_);
            const std::uint32_t begin = last.load_relaxed() % count_;
            for (std::uint32_t n = 0; n < count_; ++n) {
                const std::uint32_t i = (begin + n) % count_;
                void* const p = i == 0 ? first_.ref.allocate(context, bytes)
                                       : parts_[i].ref.allocate(without_cache(context), bytes);
                if (p == nullptr) continue;
                if (n != 0) last.store_relaxed(i);
                return p;
            }
            return nullptr;
        }

        Part first_;
        const Part* parts_;  ///< of which number 0 is not used
        std::uint32_t* last_;
        std::uint32_t count_;
    };

    explicit Growing(const PoolConfig& config)
        : config_(config),
          table_(config.place, kMostParts * sizeof(Part)),
          last_(config.place, sizeof(std::uint32_t)) {
        parts_.push_back(std::make_unique<Owned>(config));
        last_.zero();
    }

    /// Adds a part of `bytes` bytes, made as the first one. Blocks stay where they are and Refs
    /// made before stay valid: they do not know the new part. Only while no kernel uses the pool.
    /// @throws as A's constructor, and std::length_error if there are kMostParts parts; then
    /// nothing
    ///     has changed
    void grow(std::uint64_t bytes) {
        if (parts_.size() == kMostParts) {
            throw std::length_error("a pool can grow " + std::to_string(kMostParts - 1) +
                                    " times, and this one has; grow it by more at a time");
        }
        PoolConfig config = config_;
        config.bytes = bytes;
        auto part = std::make_unique<Owned>(config);
        const Part entry = part->entry();
        table_.write(parts_.size() * sizeof(Part), &entry, sizeof entry);
        parts_.push_back(std::move(part));
    }
    /// How many parts there are.
    std::uint32_t part_count() const { return static_cast<std::uint32_t>(parts_.size()); }

    Ref ref() const {
        Ref ref;
        ref.first_ = parts_.front()->entry();
        ref.parts_ = table_.template as<const Part>();
        ref.last_ = last_.template as<std::uint32_t>();
        ref.count_ = part_count();
        return ref;
    }
    void reset() {
        for (const auto& part : parts_) part->allocator->reset();
        last_.zero();
    }
    std::uint64_t pool_bytes() const {
        std::uint64_t bytes = 0;
        for (const auto& part : parts_) bytes += part->allocator->pool_bytes();
        return bytes;
    }
    std::uint64_t overhead_bytes() const {
        std::uint64_t bytes = table_.size() + last_.size();
        for (const auto& part : parts_) bytes += part->allocator->overhead_bytes();
        return bytes;
    }
    /// The parts' regions, part by part: offsets as if the parts lay one behind the other.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::uint64_t before = 0;
        for (const auto& part : parts_) {
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
        for (const auto& part : parts_) {
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

    PoolConfig config_;
    std::vector<std::unique_ptr<Owned>> parts_;  ///< in the order in which they were made
    Buffer table_;
    Buffer last_;
};

}  // namespace heapwood::allocators
