/// @file
/// AWMalloc: AtomicMalloc that wraps around and takes its pool from the start again.
///
/// Structure: one 64-bit counter that only grows, the ring position. A request adds its rounded
/// size, and owns the bytes between the old and the new value. The position modulo the pool is the
/// place, the quotient is the lap. A rest at the pool's end that is too short for a request is
/// passed over. Memory is reused in the order in which it was given out. So the allocator is not
/// full (the papers' asterisk): one block that stays stops all requests once the ring has come
/// round to it, however much is free behind it.
///
/// Against the original (Vinkler & Havran 2014, algorithm 2), which after a wrap hands out memory
/// whether it is in use or not: the pool is cut into segments, about 256 of them, each with a
/// count of its bytes that are finished, that is freed or passed over. A lap of a segment is
/// opened when all bytes of the lap opened before it are finished; a request gets its place only
/// if all segments that it touches are open in its lap. Else it would have overwritten live
/// memory (or a neighbour of some in the same segment): it is refused, and failure_note() says
/// so. Nothing is checked in the first lap, where a request costs what AtomicMalloc's does. A
/// free costs one atomic addition per segment touched, nothing is written into blocks, and as only
/// bytes are counted a block may be freed in parts. Also: 64 bits, and nullptr on failure.
///
/// Concurrency: a range of positions is drawn by one thread only, either by the addition or by a
/// compare-and-swap that moves the counter on. Of a lap of a segment there are three kinds:
/// - Open. Its gate word says so and will until every byte of it is finished, for that is what
///   opening the next lap takes. So a thread that was stalled between drawing and looking at the
///   gate finds it as it was: its own bytes are not finished. Two laps of a segment are never
///   in use at once, hence no two blocks overlap.
/// - Not yet opened. A thread that has drawn bytes of it opens it, or, if it cannot, must give
///   them up. No thread will ever finish these bytes, so the whole lap is closed with the same
///   word, which can then only be opened for a later lap. (A request looks before it draws. So only
///   a request that was overtaken between the look and the draw comes to this; without the look,
///   failing requests would also drive the counter on.)
/// - Closed, or passed by since a later lap is open: no byte of it is ever handed out or counted.
/// The gate {lap opened last, lap closed last} only grows, so an equal word means an equal state.
/// Laps are numbered with 32 bits and positions with 64; after 2^32 - 1 laps the pool refuses until
/// it is reset. (A pool above 4 GiB comes to the end of the positions before, after 2^64 bytes.)
/// No thread waits: opening is one compare-and-swap that fails only if another has moved the gate,
/// and a request gives up after a fixed number of tries.
///
/// Memory order: a free adds to `finished` with release; who opens reads it with acquire and
/// publishes by the gate's compare-and-swap; who finds the gate open acquires it. So all that old
/// owners did to a segment happens before anything new owners do. The first lap has no old owners.
#pragma once

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "allocators/allocator.cuh"
#include "allocators/awmalloc/layout.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

/// The parameters of AWMalloc.
struct AWMallocPolicy {
    /// A pool has at most this many segments: the more, the less memory around a live block is
    /// refused; the fewer, the fewer counters a large block's free has to add to.
    static constexpr std::uint64_t kMostSegments = 256;
    /// Bytes, a power of two; and of the smallest pool.
    static constexpr std::uint64_t kSmallestSegment = 1024;
    static constexpr std::uint64_t kSmallestPool = 4096;
    /// As far as half a gate word can count.
    static constexpr std::uint64_t kLastLap = 0xffffffff;
};

/// AWMalloc with the parameters of a policy.
template <class Policy>
class RingMalloc {
public:
    static constexpr Traits traits() {
        return {.name = "awmalloc",
                .title = "AWMalloc",
                .source = "Vinkler & Havran 2014, section 3, algorithm 2",
                .frees_individually = true,
                .full = false,
                .walkable = true,
                .header_bytes = 0,
                .smallest_pool = Policy::kSmallestPool,
                .splittable = true,
                .shares_regions = true};
    }

private:
    using Layout = awmalloc::Layout;
    using Part = awmalloc::Part;

    /// A request gives up after being overtaken so often; enough to step over every segment.
    static constexpr unsigned kTries = 1000;
    static constexpr std::uint64_t kLowHalf = 0xffffffff;

    struct Segment {
        std::uint64_t gate;      ///< lap opened last << 32 | lap closed last (if after that)
        std::uint64_t finished;  ///< bytes of all laps up to the open one that are not in use
    };
    struct State {
        alignas(128) std::uint64_t position;  ///< of the ring: lap * capacity + offset
        alignas(128) std::uint64_t refused;   ///< requests that met memory in use
        alignas(128) Segment segments[Policy::kMostSegments];
    };

public:
    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context&, std::size_t bytes) const {
            if (bytes == 0 || bytes > layout_.capacity) return nullptr;
            const auto size = platform::round_up<std::uint64_t>(bytes, kAlignment);
            const platform::AtomicRef position(state_->position);
            // In the first lap all is open. (The look keeps what does not fit from drawing.)
            std::uint64_t drawn = kNothing;
            if (position.load_relaxed() + size <= layout_.capacity) {
                drawn = position.add_relaxed(size);
                if (drawn + size <= layout_.capacity) return pool_ + drawn;
            }
            return allocate_later(*this, size, drawn);
        }
        HEAPWOOD_FN void deallocate(const Context&, void* p, std::size_t bytes) const {
            if (p == nullptr) return;
            const auto offset = static_cast<std::uint64_t>(static_cast<char*>(p) - pool_);
            const auto size = platform::round_up<std::uint64_t>(bytes, kAlignment);
            layout_.for_each_part(layout_.part_at(0, offset), size, [&](const Part& part) {
                finish(part);
                return true;
            });
        }
        HEAPWOOD_FN std::uint64_t granted_bytes(const void*, std::size_t bytes) const {
            return platform::round_up<std::uint64_t>(bytes, kAlignment);
        }

    private:
        friend class RingMalloc;

        static constexpr std::uint64_t kNothing = ~std::uint64_t{0};

        /// A request that has drawn nothing, or what it cannot use, in the first lap. Static, for a
        /// call with `this` would force a caller's Ref from registers into memory.
        HEAPWOOD_NOINLINE static void* allocate_later(Ref ref, std::uint64_t size,
                                                      std::uint64_t drawn) {
            if (drawn != kNothing) ref.give_up(drawn, size);
            const platform::AtomicRef position(ref.state_->position);
            for (unsigned tries = 0; tries < kTries; ++tries) {
                const std::uint64_t seen = position.load_relaxed();
                const Part here = ref.layout_.part_at(seen);
                std::uint64_t at = kNothing;
                if (size <= here.bytes && ref.is_open(here)) {
                    at = position.add_relaxed(size);
                    const std::uint64_t ahead = at - seen;
                    if (ahead + size <= here.bytes) return ref.pool_ + here.offset + ahead;
                } else if (!ref.draw(seen, here, size, at)) {
                    return nullptr;
                }
                if (at == kNothing) continue;
                const std::uint64_t offset = ref.layout_.part_at(at).offset;
                if (offset + size <= ref.layout_.capacity && ref.enter(at, size)) {
                    return ref.pool_ + offset;
                }
                ref.give_up(at, size);
            }
            return nullptr;
        }

        /// Draws `size` bytes when the ring was seen to stand at `here`, if that makes sense:
        /// `at` is where, or left as it is if the caller must look again.
        /// @return false if the request is refused.
        HEAPWOOD_FN bool draw(std::uint64_t seen, const Part& here, std::uint64_t size,
                              std::uint64_t& at) const {
            const platform::AtomicRef position(state_->position);
            const bool wraps = here.offset + size > layout_.capacity;
            const std::uint64_t start = wraps ? (here.lap + 1) * layout_.capacity : seen;
            const Outlook outlook = look(seen, start, size);
            if (outlook.blocked) {
                platform::AtomicRef(state_->refused).count_relaxed(1);
                return false;
            }
            const bool usable = outlook.next == start;
            if (usable && !wraps) {
                at = position.add_relaxed(size);
                return true;
            }
            // Passes over the pool's end, or over segments that are closed.
            std::uint64_t expected = seen;
            if (position.cas_relaxed(expected, usable ? start + size : outlook.next)) {
                give_up(seen, outlook.next - seen);
                if (usable) at = start;
            }
            return true;
        }

        /// What a request would meet. `next` is where it starts, or the end of a segment that is
        /// closed in this lap and must be passed over.
        struct Outlook {
            bool blocked;
            std::uint64_t next;
        };

        HEAPWOOD_INLINE Segment& segment(const Part& part) const {
            return state_->segments[part.segment];
        }

        HEAPWOOD_INLINE bool is_open(const Part& part) const {
            // Acquire: what the segment's old owners did, published by who opened it.
            return platform::AtomicRef(segment(part).gate).load_acquire() >> 32 == part.lap;
        }

        /// Whether all bytes of the lap of a segment that was opened last are finished, but for the
        /// last `but` ones.
        HEAPWOOD_INLINE bool is_over(const Part& part, std::uint64_t opened,
                                     std::uint64_t but = 0) const {
            // Acquire: what the owners did before they freed.
            return platform::AtomicRef(segment(part).finished).load_acquire() + but >=
                   (opened + 1) * layout_.size_of(part.segment);
        }

        /// What a request would meet at `start` if it passed over all from `seen` to there. A look
        /// only, to keep hopeless requests from drawing.
        HEAPWOOD_FN Outlook look(std::uint64_t seen, std::uint64_t start,
                                 std::uint64_t size) const {
            Outlook outlook{false, start};
            std::uint64_t end = start;
            layout_.for_each_part(layout_.part_at(start), size, [&](const Part& part) {
                end += layout_.end_of(part.segment) - part.offset;
                const std::uint64_t gate = platform::AtomicRef(segment(part).gate).load_relaxed();
                const std::uint64_t opened = gate >> 32;
                if (opened == part.lap) return true;
                if (opened > part.lap || (gate & kLowHalf) >= part.lap) {
                    outlook.next = end;
                    return false;
                }
                const std::uint64_t passed_over =
                    layout_.size_of(part.segment) - layout_.drawn(seen, part.segment, opened);
                outlook.blocked =
                    part.lap > Policy::kLastLap || !is_over(part, opened, passed_over);
                return !outlook.blocked;
            });
            return outlook;
        }

        /// Whether a part that this thread has drawn is open, after opening it if that can be
        /// done. If not and `close`, closes it: nobody will open this lap any more.
        HEAPWOOD_FN bool open(const Part& part, bool close) const {
            const platform::AtomicRef gate(segment(part).gate);
            // Acquire, here and in the swap: what old owners did, from who opened the segment.
            // Release: what is_over has acquired, to those who find it open.
            for (std::uint64_t seen = gate.load_acquire();;) {
                const std::uint64_t opened = seen >> 32;
                if (opened == part.lap) return true;
                if (opened > part.lap || (seen & kLowHalf) >= part.lap ||
                    part.lap > Policy::kLastLap) {
                    return false;
                }
                const bool over = is_over(part, opened);
                if (!over && !close) return false;
                if (!gate.cas_acq_rel(seen, over ? part.lap << 32 : opened << 32 | part.lap)) {
                    continue;
                }
                // The laps in between were closed; until they are counted the segment only seems
                // to be more in use than it is.
                if (const std::uint64_t closed = part.lap - opened - 1; over && closed > 0) {
                    platform::AtomicRef(segment(part).finished)
                        .add_relaxed(closed * layout_.size_of(part.segment));
                }
                return over;
            }
        }

        /// Whether all that was drawn is open.
        HEAPWOOD_FN bool enter(std::uint64_t at, std::uint64_t size) const {
            return layout_.for_each_part(layout_.part_at(at), size,
                                         [&](const Part& part) { return open(part, false); });
        }
        /// Finishes what was drawn and is not used.
        HEAPWOOD_FN void give_up(std::uint64_t at, std::uint64_t size) const {
            layout_.for_each_part(layout_.part_at(at), size, [&](const Part& part) {
                if (open(part, true)) finish(part);
                return true;
            });
        }
        HEAPWOOD_INLINE void finish(const Part& part) const {
            // Release: what this owner did, to who opens the segment's next lap.
            platform::AtomicRef(segment(part).finished).add_release(part.bytes);
        }

        char* pool_;
        State* state_;
        Layout layout_;
    };

    explicit RingMalloc(const PoolConfig& config) {
        if (config.bytes < Policy::kSmallestPool) {
            throw std::invalid_argument("awmalloc needs a pool of at least " +
                                        std::to_string(Policy::kSmallestPool) + " bytes");
        }
        layout_.capacity = config.bytes / kAlignment * kAlignment;
        const std::uint64_t even_share =
            platform::ceil_div<std::uint64_t>(layout_.capacity, Policy::kMostSegments);
        layout_.log2_segment =
            platform::floor_log2(std::bit_ceil(std::max(even_share, Policy::kSmallestSegment)));
        pool_ = Buffer(config.place, layout_.capacity);
        state_ = Buffer(config.place, sizeof(State));
        reset();
    }

    Ref ref() const {
        Ref r;
        r.pool_ = pool_.as<char>();
        r.state_ = state_.as<State>();
        r.layout_ = layout_;
        return r;
    }
    void reset() { state_.zero(); }
    std::uint64_t pool_bytes() const { return layout_.capacity; }
    std::uint64_t overhead_bytes() const { return sizeof(State); }

    /// Where blocks lie is not known, only how many of a segment's bytes are in use: segments side
    /// by side that hold any are one allocated region.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        const State state = read_state();
        Region region{0, 0, false};
        const std::uint64_t count = platform::ceil_div(layout_.capacity, layout_.begin_of(1));
        for (std::uint64_t i = 0; i < count; ++i) {
            const bool used = bytes_in_use(state, i) > 0;
            if (used != region.allocated) {
                if (region.size > 0) visit(region);
                region = {layout_.begin_of(i), 0, used};
            }
            region.size += layout_.size_of(i);
        }
        visit(region);
    }

    /// Bytes in use, as requests were rounded. Only while no kernel runs.
    std::uint64_t live_bytes() const {
        const State state = read_state();
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; layout_.begin_of(i) < layout_.capacity; ++i) {
            sum += bytes_in_use(state, i);
        }
        return sum;
    }

    /// If a request since the last reset() was refused because it would have overwritten memory in
    /// use, a sentence that says so; else empty. Only while no kernel runs.
    std::string failure_note() const {
        const std::uint64_t refused = read_state().refused;
        if (refused == 0) return {};
        return "awmalloc would have overwritten memory that is still in use " +
               std::to_string(refused) + (refused == 1 ? " time" : " times") +
               " (it reuses memory in the order in which it gave it out, so the pool must be "
               "larger "
               "or blocks be freed first in, first out)";
    }

private:
    State read_state() const {
        State state;
        state_.read(0, &state, sizeof(state));
        return state;
    }
    std::uint64_t bytes_in_use(const State& state, std::uint64_t i) const {
        // What nobody has drawn yet of the lap that is open counts as not finished either.
        const std::uint64_t lap = state.segments[i].gate >> 32;
        return lap * layout_.size_of(i) + layout_.drawn(state.position, i, lap) -
               state.segments[i].finished;
    }

    Layout layout_{};
    Buffer pool_;
    Buffer state_;
};

using AWMalloc = RingMalloc<AWMallocPolicy>;

static_assert(Allocator<AWMalloc>);

}  // namespace heapwood::allocators
