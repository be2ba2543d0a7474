/// @file
/// GuardedHeap: a heap that finds the mistakes of the program that uses it.
///
/// It has the calls of Heap and HeapRef: a program changes a type to look for mistakes, and the
/// heap without guards has no instruction more. It finds what is written up to kZone bytes before
/// or behind a block, or into a block that was freed; blocks freed twice; what is freed and is no
/// block; and it lists the blocks that are in use, with the tags of those who took them.
///
/// **How.** Each block has zones with a pattern before and behind it, which free() looks at. The
/// heap keeps the last blocks that were freed, filled with another pattern, and looks at that
/// before their memory goes back: when others come, or when a request finds no memory. All blocks
/// stand in a register (block_register.cuh), so that nothing which a program overwrites is trusted.
/// realloc() always moves a block.
///
/// **Concurrency.** The ring of freed blocks is an array of words, each exchanged by acquire and
/// release: who puts a block in gets the one before it, alone. Counts of faults are relaxed, and
/// are read by the host after the kernel.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/heap.cuh"
#include "allocators/heap/block_register.cuh"
#include "allocators/heap/guard_report.h"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"

namespace heapwood::allocators {

namespace heap {

/// What a guarded heap counts, and the faults that it found first.
struct GuardState {
    static constexpr std::uint32_t kRecords = 256;

    std::uint64_t counts[kHeapFaults];
    std::uint64_t unregistered;
    std::uint64_t next_freed;  ///< place in the ring for the next block that is freed
    std::uint64_t recorded;
    HeapFinding records[kRecords];
};

}  // namespace heap

/// The handle of a guarded heap. Its calls are those of HeapRef, and answer as they do.
template <class A>
class GuardedRef {
public:
    /// Bytes of a zone before and behind a block; before it at least.
    static constexpr std::size_t kZone = 32;

    /// The same heap, for a caller whose blocks have that tag.
    HEAPWOOD_FN GuardedRef tagged(std::uint32_t tag) const {
        GuardedRef ref = *this;
        ref.tag_ = tag;
        return ref;
    }

    HEAPWOOD_FN void* malloc(std::size_t bytes) const { return aligned_alloc(kAlignment, bytes); }
    HEAPWOOD_FN void* calloc(std::size_t count, std::size_t bytes) const {
        if (bytes != 0 && count > ~std::size_t{0} / bytes) return nullptr;
        void* const block = malloc(count * bytes);
        if (block != nullptr) fill(static_cast<unsigned char*>(block), count * bytes, 0);
        return block;
    }
    HEAPWOOD_FN void* realloc(void* block, std::size_t bytes) const {
        if (block == nullptr) return malloc(bytes);
        const std::uint32_t index = register_.find(address_of(block));
        if (index == heap::BlockRegister::kNone) {
            record(HeapFault::not_a_block, address_of(block), 0, tag_);
            return nullptr;
        }
        void* const moved = malloc(bytes);
        if (moved == nullptr) return nullptr;
        const std::size_t had = register_.read(index).bytes;
        const auto* const from = static_cast<const unsigned char*>(block);
        auto* const to = static_cast<unsigned char*>(moved);
        for (std::size_t i = 0; i < had && i < bytes; ++i) to[i] = from[i];
        free(block);
        return moved;
    }
    HEAPWOOD_FN void* aligned_alloc(std::size_t alignment, std::size_t bytes) const {
        if (bytes >= heap::BlockHeader::kSizeEnd) return nullptr;
        const std::size_t front = alignment > kZone ? alignment : kZone;
        auto* start =
            static_cast<unsigned char*>(heap_.aligned_alloc(alignment, front + bytes + kZone));
        if (start == nullptr && give_back_all()) {
            start =
                static_cast<unsigned char*>(heap_.aligned_alloc(alignment, front + bytes + kZone));
        }
        if (start == nullptr) return nullptr;
        unsigned char* const block = start + front;
        fill(start, front, kZonePattern);
        fill(block + bytes, kZone, kZonePattern);
        if (register_.enter(address_of(block), bytes, tag_, static_cast<std::uint32_t>(front))) {
            return block;
        }
        platform::AtomicRef(state_->unregistered).count_relaxed(1);
        heap_.free(start);
        return nullptr;
    }
    HEAPWOOD_FN void free(void* block) const {
        if (block == nullptr) return;
        const std::uint64_t address = address_of(block);
        const std::uint32_t index = register_.find(address);
        if (index == heap::BlockRegister::kNone) {
            record(HeapFault::not_a_block, address, 0, tag_);
            return;
        }
        if (!register_.set_freed(index, address)) {
            record(HeapFault::freed_twice, address, 0, tag_);
            return;
        }
        const heap::RegisterEntry entry = register_.read(index);
        auto* const bytes = static_cast<unsigned char*>(block);
        if (!has(bytes - entry.front, entry.front, kZonePattern)) {
            record(HeapFault::written_before, address, entry.bytes, entry.tag);
        }
        if (!has(bytes + entry.bytes, kZone, kZonePattern)) {
            record(HeapFault::written_behind, address, entry.bytes, entry.tag);
        }
        fill(bytes, entry.bytes, kFreedPattern);
        const std::uint64_t turn = platform::AtomicRef(state_->next_freed).add_relaxed(1);
        const platform::AtomicRef slot(freed_[turn % freed_count_]);
        const std::uint32_t before = slot.exchange_acq_rel(index + 1);
        if (before != 0) give_back(before - 1);
    }
    /// Exactly the bytes that were asked for; 0 for what is no block.
    HEAPWOOD_FN std::size_t usable_size(const void* block) const {
        const std::uint32_t index = register_.find(address_of(block));
        return index == heap::BlockRegister::kNone ? 0 : register_.read(index).bytes;
    }

private:
    template <Allocator>
    friend class GuardedHeap;

    static constexpr unsigned char kZonePattern = 0xb7;
    static constexpr unsigned char kFreedPattern = 0xdf;

    HEAPWOOD_INLINE static std::uint64_t address_of(const void* p) {
        return reinterpret_cast<std::uintptr_t>(p);
    }
    HEAPWOOD_FN static void fill(unsigned char* begin, std::size_t bytes, unsigned char pattern) {
        for (std::size_t i = 0; i < bytes; ++i) begin[i] = pattern;
    }
    HEAPWOOD_FN static bool has(const unsigned char* begin, std::size_t bytes,
                                unsigned char pattern) {
        for (std::size_t i = 0; i < bytes; ++i) {
            if (begin[i] != pattern) return false;
        }
        return true;
    }
    /// Ends a freed block that nobody else has.
    HEAPWOOD_FN void give_back(std::uint32_t index) const {
        const heap::RegisterEntry entry = register_.read(index);
        const std::uint64_t address = entry.key & ~heap::RegisterEntry::kFreed;
        auto* const block = reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(address));
        if (!has(block, entry.bytes, kFreedPattern)) {
            record(HeapFault::written_freed, address, entry.bytes, entry.tag);
        }
        register_.leave(index);
        heap_.free(block - entry.front);
    }
    /// Ends all freed blocks that are kept. @return whether there was one
    HEAPWOOD_FN bool give_back_all() const {
        bool any = false;
        for (std::uint32_t i = 0; i < freed_count_; ++i) {
            const std::uint32_t kept = platform::AtomicRef(freed_[i]).exchange_acq_rel(0);
            if (kept == 0) continue;
            give_back(kept - 1);
            any = true;
        }
        return any;
    }
    HEAPWOOD_FN void record(HeapFault fault, std::uint64_t address, std::uint64_t bytes,
                            std::uint32_t tag) const {
        platform::AtomicRef(state_->counts[static_cast<std::uint32_t>(fault)]).count_relaxed(1);
        const std::uint64_t place = platform::AtomicRef(state_->recorded).add_relaxed(1);
        if (place < heap::GuardState::kRecords) {
            state_->records[place] = {address, bytes, tag, fault};
        }
    }

    HeapRef<A> heap_;
    heap::BlockRegister register_;
    heap::GuardState* state_;
    std::uint32_t* freed_;  ///< 1 + an index in the register, or 0
    std::uint32_t freed_count_;
    std::uint32_t tag_ = 0;
};

/// The owner of a guarded heap: a Heap, and what looks after it.
template <Allocator A>
class GuardedHeap {
public:
    /// Blocks that are kept after they were freed, if not told otherwise.
    static constexpr std::uint32_t kKept = 1024;

    explicit GuardedHeap(std::uint64_t bytes) : GuardedHeap(HeapConfig{.bytes = bytes}) {}
    /// @param blocks that may be in use at a time, with the freed ones that are kept; 0: one for
    ///     256 bytes of the pool
    /// @param kept of these, blocks that are kept after they were freed; at least 1
    /// @throws as Heap
    explicit GuardedHeap(const HeapConfig& config, std::uint64_t blocks = 0,
                         std::uint32_t kept = kKept)
        : heap_(config),
          entries_(std::bit_ceil(std::clamp<std::uint64_t>(
              blocks != 0 ? 2 * blocks : heap_.pool_bytes() / 128, 64, std::uint64_t{1} << 30))),
          kept_(std::max(kept, 1U)),
          table_(config.place, entries_ * sizeof(heap::RegisterEntry)),
          state_(config.place, sizeof(heap::GuardState)),
          freed_(config.place, std::uint64_t{kept_} * sizeof(std::uint32_t)) {
        forget();
    }

    GuardedRef<A> ref() const {
        GuardedRef<A> ref;
        ref.heap_ = heap_.ref();
        ref.register_ = {table_.template as<heap::RegisterEntry>(),
                         static_cast<std::uint32_t>(entries_ - 1)};
        ref.state_ = state_.template as<heap::GuardState>();
        ref.freed_ = freed_.template as<std::uint32_t>();
        ref.freed_count_ = kept_;
        return ref;
    }
    /// Frees all blocks and forgets all findings.
    void reset() {
        heap_.reset();
        forget();
    }
    /// What was found so far. Blocks that are still kept have not been looked at.
    HeapReport report() const {
        HeapReport report;
        heap::GuardState state;
        state_.read(0, &state, sizeof state);
        std::copy(std::begin(state.counts), std::end(state.counts), report.counts);
        report.unregistered = state.unregistered;
        const std::uint64_t records =
            std::min<std::uint64_t>(state.recorded, heap::GuardState::kRecords);
        report.faults.assign(state.records, state.records + records);
        std::vector<heap::RegisterEntry> entries(entries_);
        table_.read(0, entries.data(), table_.size());
        for (const heap::RegisterEntry& entry : entries) {
            if (!heap::RegisterEntry::has_block(entry.key) ||
                (entry.key & heap::RegisterEntry::kFreed) != 0) {
                continue;
            }
            report.leaks.push_back({entry.key, entry.bytes, entry.tag, HeapFault{}});
        }
        std::sort(report.leaks.begin(), report.leaks.end(),
                  [](const HeapFinding& a, const HeapFinding& b) { return a.address < b.address; });
        return report;
    }

    /// The heap below.
    const Heap<A>& heap() const { return heap_; }

private:
    void forget() {
        table_.zero();
        state_.zero();
        freed_.zero();
    }

    Heap<A> heap_;
    std::uint64_t entries_;
    std::uint32_t kept_;
    Buffer table_;
    Buffer state_;
    Buffer freed_;
};

}  // namespace heapwood::allocators
