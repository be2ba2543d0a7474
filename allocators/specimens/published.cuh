/// @file
/// The circular allocators as they were published: specimens, which go wrong.
///
/// After Vinkler & Havran 2014, algorithm 3 (2015: section 3). A ring of chunks as in core.cuh, but
/// a chunk's header lies in the pool itself, in front of its payload. A request that was stalled on
/// its way to a header finds payload there if the chunk in front has been freed meanwhile, merged
/// with this one, and given to somebody who wrote to it. It takes that payload for a header: it may
/// change it, be given a chunk inside another's block, or be sent anywhere. Nothing here prevents
/// that. tests/allocators/specimens/published_stress_test.cpp shows it; core.cuh has the remedy.
///
/// **The algorithm.** A request goes from the hint from chunk to chunk. At each it marks the header
/// used, free or not, and sees by the old value whether the chunk was free; if it was, and is large
/// enough, the chunk is the caller's; if it is too small, the mark is taken back. What is not
/// needed of a large chunk becomes a chunk of its own, and the hint moves behind the caller's. A
/// chunk that is freed first marks its successor; if that was free, the two become one, and the
/// hint moves behind them. At the end is a sentinel, always used, next 0. Coalesced requests of a
/// warp are left out.
///
/// **What is ours**, because papers and sources leave it open or would not run here:
/// - Offsets count from a place that puts every payload at a multiple of 16 bytes: chunks begin
///   4 or 8 bytes before one. Sizes are multiples of 16 bytes, header included, as published.
/// - Sizes are differences of unsigned words, as befits pools of 4 GiB: a "chunk" whose next is
///   below itself passes for a huge one. (Of chunks that exist, next is above.)
/// - The pool is split beforehand as for the sound forms (layout.h).
/// - Every header word is an atomic, and the orders are the strongest that the algorithm suggests;
///   the original has plain accesses and one fence. So what goes wrong here goes wrong by the
///   algorithm, not by the order of memory.
/// - A header {free, next} is stored as next and then flag, where the flag has a word of its own;
///   the original does it in one 8-byte store. In between, the header says {used, new next}, which
///   traversals follow.
/// - nullptr for a failure (the original: the pool's first byte), also for 0 bytes and for more
///   than the pool has.
///
/// **What is added** so that a run ends with a finding instead of a crash: two checks. (1) A `next`
/// at which no header can be, because it is beyond the pool or not a multiple of 16 bytes, ends the
/// call: a request is refused, a block stays allocated. The original would access that address
/// next. (2) So does a chunk that is about to be given away and would end beyond the pool. Either
/// is counted: PublishedMalloc::corrupt_walks(). No header of an intact ring meets them, nothing is
/// undone or repaired by them, and any stray offset that could be a header's is followed, any block
/// inside the pool handed out, as by the original. A ring that has become a circle ends by the
/// original's limit of steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/layout.h"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// What a published header says, read while nothing else goes on.
struct PublishedChunk {
    bool used;
    std::uint32_t next;
};

/// What the two published forms have in common; each adds `Header` and `traits()`.
struct PublishedPolicy {
    /// A request ends after so many steps, as published.
    static constexpr std::uint32_t kMostSteps = 1000000;
    /// A chunk is split if it has at least this many times the size asked for, as published.
    static constexpr std::uint32_t kMaxFragmentation = 2;
    /// Whether a chunk that is freed is merged with a free successor, as published. Without it
    /// headers stay for ever, and nothing goes wrong but that large chunks run out.
    static constexpr bool kMerges = true;
    /// Called between any two steps that others may come between; does something in tests only.
    HEAPWOOD_INLINE static void pause() {}
};

/// The handle that kernels use. A Policy is a PublishedPolicy with a Header, which has:
/// - `kBytes`, its size; `kMostPool`, the pool that its next can address;
/// - `take<Policy>(h, next)`: marks used what is at h and reads its next; whether it was free;
/// - `unmark(h, next)`: marks free again what take() found to be free;
/// - `next(h)`, and `set_next(h, next)` of an own, used chunk;
/// - `give(h, next)`: an own chunk becomes free, its next is as given;
/// - `encode`, `decode`: the words, for the host; no chunk if no algorithm would write them.
template <class Policy>
class PublishedCore {
    using Header = typename Policy::Header;

public:
    HEAPWOOD_FN void* allocate(const Context&, std::size_t bytes) const {
        if (bytes == 0 || bytes > end_) return nullptr;
        const std::uint64_t need = (bytes + Header::kBytes + kAlignment - 1) & ~(kAlignment - 1);
        // Acquire, here and in the headers: a header is complete before hint or next leads to it.
        std::uint32_t at = hint().load_acquire();
        for (std::uint32_t steps = 0; steps < Policy::kMostSteps; ++steps) {
            Policy::pause();
            std::uint32_t next;
            const bool taken = Header::template take<Policy>(header(at), next);
            if (!may_be_header(next)) return refuse();
            if (taken) {
                if (next - at >= need) return grant(at, next, need);
                Policy::pause();
                Header::unmark(header(at), next);
            }
            at = next;
        }
        return nullptr;
    }

    HEAPWOOD_FN void deallocate(const Context&, void* p, std::size_t) const {
        if (p == nullptr) return;
        const std::uint32_t at = offset(p);
        std::uint32_t next = Header::next(header(at));
        Policy::pause();
        if (!may_be_header(next)) {
            refuse();
            return;
        }
        std::uint32_t beyond;
        if (Policy::kMerges && Header::template take<Policy>(header(next), beyond)) {
            if (!may_be_header(beyond)) {
                refuse();
                return;
            }
            hint().store_release(beyond);
            next = beyond;
            Policy::pause();
        }
        // Release: pairs with the acquire of whoever takes the chunk next.
        Header::give(header(at), next);
    }

    /// The whole chunk, header included.
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t) const {
        if (p == nullptr) return 0;
        return Header::next(header(offset(p))) - offset(p);
    }

private:
    template <class>
    friend class PublishedMalloc;

    HEAPWOOD_INLINE std::uint32_t* header(std::uint32_t at) const {
        return reinterpret_cast<std::uint32_t*>(ring_ + at);
    }
    HEAPWOOD_INLINE std::uint32_t offset(const void* p) const {
        return static_cast<std::uint32_t>(static_cast<const char*>(p) - ring_ - Header::kBytes);
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> hint() const {
        return platform::AtomicRef<std::uint32_t>(control_[0]);
    }
    /// Whether a header, or the sentinel, could begin there.
    HEAPWOOD_INLINE bool may_be_header(std::uint32_t at) const {
        return at <= end_ && at % kAlignment == 0;
    }
    /// Counts a call that met what cannot be.
    HEAPWOOD_INLINE void* refuse() const {
        platform::AtomicRef<std::uint32_t>(control_[1]).count_relaxed(1);
        return nullptr;
    }

    /// Of the chunk [at, next) gives back what is not needed, and sends the hint past it.
    HEAPWOOD_INLINE void* grant(std::uint32_t at, std::uint32_t next, std::uint64_t need) const {
        if (need > end_ - at) return refuse();
        if (next - at > need && (next - at) / Policy::kMaxFragmentation >= need) {
            const std::uint32_t tail = at + static_cast<std::uint32_t>(need);
            Policy::pause();
            Header::give(header(tail), next);
            Policy::pause();
            Header::set_next(header(at), tail);
            next = tail;
        }
        hint().store_release(next);
        return ring_ + at + Header::kBytes;
    }

    char* ring_;              ///< offset 0
    std::uint32_t* control_;  ///< the hint; how many calls met what cannot be
    std::uint32_t end_;       ///< the sentinel's offset
};

/// The host object: owns the pool, splits it before use and walks it afterwards.
template <class Policy>
class PublishedMalloc {
    using Header = typename Policy::Header;

public:
    using Ref = PublishedCore<Policy>;

    static constexpr Traits traits() { return Policy::traits(); }

    /// @throws std::invalid_argument also if the pool is too large for the header.
    explicit PublishedMalloc(const PoolConfig& config)
        : end_(static_cast<std::uint32_t>(std::min(config.bytes, Header::kMostPool - kAlignment) /
                                          kAlignment * kAlignment)) {
        if (config.bytes < traits().smallest_pool || config.bytes > Header::kMostPool) {
            throw std::invalid_argument(std::string(traits().name) + " needs a pool of " +
                                        std::to_string(traits().smallest_pool) + " to " +
                                        std::to_string(Header::kMostPool) + " bytes");
        }
        const std::uint64_t first =
            config.largest_request == 0 ? 0 : config.largest_request + Header::kBytes;
        starts_ = presplit(end_ / kAlignment, kSmallestShift, first, presplit_of(config));
        pool_ = Buffer(config.place, end_ + kAlignment);
        control_ = Buffer(config.place, 2 * sizeof(std::uint32_t));
        reset();
    }

    Ref ref() const {
        Ref r;
        r.ring_ = pool_.template as<char>() + kLead;
        r.control_ = control_.template as<std::uint32_t>();
        r.end_ = end_;
        return r;
    }

    /// Frees everything, splits the pool anew, and forgets corrupt walks.
    void reset() {
        for (std::size_t i = 0; i < starts_.size(); ++i) {
            const std::uint64_t next = i + 1 < starts_.size() ? starts_[i + 1] * kAlignment : end_;
            write(starts_[i] * kAlignment, {false, static_cast<std::uint32_t>(next)});
        }
        write(end_, kSentinel);
        control_.zero();
    }

    std::uint64_t pool_bytes() const { return end_; }
    /// The sentinel and the bytes in front of the first header; the hint and the counter.
    std::uint64_t overhead_bytes() const { return kAlignment + control_.size(); }

    /// How many calls since the last reset() met an offset where no header can be.
    std::uint64_t corrupt_walks() const {
        std::uint32_t count = 0;
        control_.read(sizeof(count), &count, sizeof(count));
        return count;
    }

    /// @throws std::logic_error if the headers are not a chain of chunks that tile the pool: here,
    /// the usual end.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<char> block(std::min<std::uint64_t>(kWalkBlock, pool_.size() - kLead));
        std::uint64_t first = 0;
        std::uint64_t loaded = 0;
        for (std::uint64_t at = 0;;) {
            if (at + Header::kBytes > first + loaded) {
                first = at;
                loaded = std::min<std::uint64_t>(block.size(), pool_.size() - kLead - first);
                pool_.read(kLead + first, block.data(), loaded);
            }
            std::array<std::uint32_t, Header::kBytes / 4> words;
            std::copy_n(block.data() + (at - first), Header::kBytes,
                        reinterpret_cast<char*>(words.data()));
            const std::optional<PublishedChunk> chunk = Header::decode(words);
            if (at == end_) {
                if (chunk && chunk->used && chunk->next == 0) return;
                throw corrupt(at);
            }
            if (!chunk || chunk->next <= at || chunk->next > end_ ||
                chunk->next % kAlignment != 0) {
                throw corrupt(at);
            }
            visit(Region{at, chunk->next - at, chunk->used});
            at = chunk->next;
        }
    }

private:
    static constexpr PublishedChunk kSentinel{true, 0};
    /// Bytes in front of offset 0, so that payloads are aligned.
    static constexpr std::uint64_t kLead = kAlignment - Header::kBytes;
    /// Bytes that a walk reads at once.
    static constexpr std::uint64_t kWalkBlock = 1 << 16;

    void write(std::uint64_t at, PublishedChunk chunk) {
        const auto words = Header::encode(chunk);
        pool_.write(kLead + at, words.data(), sizeof(words));
    }
    static std::logic_error corrupt(std::uint64_t at) {
        return std::logic_error(std::string(traits().name) + ": corrupt header at byte " +
                                std::to_string(at));
    }

    std::uint32_t end_;
    std::vector<std::uint32_t> starts_;
    Buffer pool_;
    Buffer control_;
};

}  // namespace heapwood::allocators::circular
