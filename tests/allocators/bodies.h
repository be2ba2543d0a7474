/// @file
/// What the warps of the conformance suite do: each body is called on every lane of every warp of
/// a machine (tests/allocators/platform/machines.h), uses an allocator through its Ref, and leaves
/// what it saw where the host can judge it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::tests {

/// A block in the hands of a test.
struct Block {
    void* data;
    std::uint64_t bytes;    ///< asked for
    std::uint64_t granted;  ///< what granted_bytes said; 0: unknown
    std::uint64_t stamp;    ///< what its bytes were made from
};

/// What one thread saw.
struct Tally {
    std::uint64_t requests;
    std::uint64_t frees;
    std::uint64_t failed;      ///< answered with nullptr
    std::uint64_t misaligned;  ///< blocks not at a multiple of kAlignment
    std::uint64_t too_small;   ///< blocks that say they are smaller than asked for
    std::uint64_t corrupt;     ///< blocks whose bytes had changed before they were freed
    std::uint64_t half_pairs;  ///< pairs that were given by halves, or not as the answer said
    std::uint64_t live_bytes;  ///< of a thread that frees its own blocks only
    std::uint64_t peak_bytes;  ///< largest value of live_bytes

    void operator+=(const Tally& t) {
        requests += t.requests;
        frees += t.frees;
        failed += t.failed;
        misaligned += t.misaligned;
        too_small += t.too_small;
        corrupt += t.corrupt;
        half_pairs += t.half_pairs;
        live_bytes += t.live_bytes;
        peak_bytes += t.peak_bytes;
    }
};

/// A small generator (Vigna's SplitMix64) that runs on either machine.
struct Dice {
    std::uint64_t state;

    HEAPWOOD_FN std::uint64_t next() {
        state += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    HEAPWOOD_FN std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    /// A size from 1 to `largest`, every power of two about as likely as any other.
    HEAPWOOD_FN std::uint64_t size(std::uint64_t largest) {
        std::uint64_t top = largest;
        for (std::uint64_t halvings = below(17); halvings > 0 && top > 1; --halvings) top /= 2;
        return 1 + below(top);
    }
};

/// Every byte of a block up to this size is stamped and checked. Of a larger one, which a single
/// lane of a GPU would take seconds for, as many at either end, and one in 4096 between.
inline constexpr std::uint64_t kStampedEnds = 8192;

HEAPWOOD_FN inline std::uint64_t next_stamped(std::uint64_t i, std::uint64_t bytes) {
    const bool between = i >= kStampedEnds && i + kStampedEnds < bytes;
    const std::uint64_t next = i + (between ? 4096 : 1);
    return between && next + kStampedEnds > bytes ? bytes - kStampedEnds : next;
}
HEAPWOOD_FN inline unsigned char stamp_byte(std::uint64_t stamp, std::uint64_t i) {
    return static_cast<unsigned char>((stamp >> (i % 8 * 8)) + i / 8);
}
HEAPWOOD_FN inline void write_stamp(const Block& b) {
    auto* p = static_cast<unsigned char*>(b.data);
    for (std::uint64_t i = 0; i < b.bytes; i = next_stamped(i, b.bytes)) {
        p[i] = stamp_byte(b.stamp, i);
    }
}
HEAPWOOD_FN inline bool has_stamp(const Block& b) {
    const auto* p = static_cast<const unsigned char*>(b.data);
    for (std::uint64_t i = 0; i < b.bytes; i = next_stamped(i, b.bytes)) {
        if (p[i] != stamp_byte(b.stamp, i)) return false;
    }
    return true;
}

/// Judges and stamps what a request for `bytes` bytes was answered with.
template <class Ref>
HEAPWOOD_FN Block receive(const Ref& ref, void* data, std::uint64_t bytes, std::uint64_t stamp,
                          Tally& tally) {
    Block b{data, bytes, 0, stamp};
    ++tally.requests;
    if (b.data == nullptr) {
        ++tally.failed;
        return b;
    }
    b.granted = ref.granted_bytes(b.data, bytes);
    if (reinterpret_cast<std::uintptr_t>(b.data) % allocators::kAlignment != 0) ++tally.misaligned;
    if (b.granted != 0 && b.granted < bytes) ++tally.too_small;
    tally.live_bytes += bytes;
    if (tally.live_bytes > tally.peak_bytes) tally.peak_bytes = tally.live_bytes;
    write_stamp(b);
    return b;
}

/// Asks for a block, judges and stamps it. `data` is nullptr if the answer was.
template <class Ref>
HEAPWOOD_FN Block request(const Ref& ref, const allocators::Context& context, std::uint64_t bytes,
                          std::uint64_t stamp, Tally& tally) {
    return receive(ref, ref.allocate(context, bytes), bytes, stamp, tally);
}

/// As request, for two blocks at once: of pair[i].bytes bytes, stamped with pair[i].stamp.
template <class Ref>
HEAPWOOD_FN void request_pair(const Ref& ref, const allocators::Context& context, Block* pair,
                              Tally& tally) {
    const std::size_t bytes[2] = {pair[0].bytes, pair[1].bytes};
    void* data[2] = {&tally, &tally};  // to be written over, whatever the answer
    const bool given = ref.allocate_pair(context, bytes, data);
    for (unsigned i = 0; i < 2; ++i) {
        if ((data[i] != nullptr) != given || data[i] == &tally) {
            ++tally.half_pairs;
            data[i] = nullptr;
        }
        pair[i] = receive(ref, data[i], bytes[i], pair[i].stamp, tally);
    }
}

/// Checks a block's stamp and frees it.
template <class Ref>
HEAPWOOD_FN void release(const Ref& ref, const allocators::Context& context, const Block& b,
                         Tally& tally) {
    if (!has_stamp(b)) ++tally.corrupt;
    tally.live_bytes -= b.bytes;
    ++tally.frees;
    ref.deallocate(context, b.data, b.bytes);
}

HEAPWOOD_FN inline allocators::Context context_of(unsigned warp, unsigned multiprocessors) {
    return {warp % multiprocessors, warp};
}

/// The first thread asks for blocks[i].bytes, for every i in turn.
template <class Ref>
struct RequestBody {
    Ref ref;
    Block* blocks;
    std::uint64_t count;
    Tally* tally;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w * W::width + warp.lane() != 0) return;
        for (std::uint64_t i = 0; i < count; ++i) {
            blocks[i] =
                request(ref, context_of(w, 1), blocks[i].bytes, i * 0x0123456789abcdU, tally[0]);
        }
    }
};

/// The first thread asks for the blocks two by two, those of a pair at once.
template <class Ref>
struct PairBody {
    Ref ref;
    Block* blocks;
    std::uint64_t pairs;
    Tally* tally;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w * W::width + warp.lane() != 0) return;
        for (std::uint64_t i = 0; i < 2 * pairs; ++i) blocks[i].stamp = i * 0x0123456789abcdU;
        for (std::uint64_t i = 0; i < pairs; ++i) {
            request_pair(ref, context_of(w, 1), blocks + 2 * i, tally[0]);
        }
    }
};

/// The first `threads` threads check and free a list of blocks, each its share, in order.
template <class Ref>
struct ReleaseBody {
    Ref ref;
    const Block* blocks;
    std::uint64_t count;
    unsigned threads;
    unsigned multiprocessors;
    Tally* tally;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        if (t >= threads) return;
        for (std::uint64_t i = t; i < count; i += threads) {
            release(ref, context_of(w, multiprocessors), blocks[i], tally[t]);
        }
    }
};

/// Every thread asks for blocks of one size until it is refused; all go into one list.
template <class Ref>
struct FillBody {
    Ref ref;
    std::uint64_t bytes;
    Block* blocks;
    std::uint64_t capacity;
    std::uint64_t* count;
    unsigned multiprocessors;
    Tally* tally;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        const auto context = context_of(w, multiprocessors);
        for (std::uint64_t round = 0;; ++round) {
            const Block b = request(ref, context, bytes, (round << 32) + t, tally[t]);
            if (b.data == nullptr) return;
            const std::uint64_t i = platform::AtomicRef(*count).add_relaxed(1);
            // More blocks than the pool has room for: count says so, and the host fails the test.
            if (i >= capacity) return;
            blocks[i] = b;
        }
    }
};

/// Every thread fills and empties slots of its own at random. Lanes take different ways, so that
/// the calls of a warp come from diverged lanes.
template <class Ref>
struct ChurnBody {
    Ref ref;
    Block* slots;  ///< of thread t: [t * slots_each, (t + 1) * slots_each); kept between runs
    unsigned slots_each;
    unsigned rounds;
    std::uint64_t largest;
    std::uint64_t seed;
    unsigned multiprocessors;
    Tally* tally;
    Block* log;  ///< of thread t: [t * rounds, (t + 1) * rounds): what it was given; or nullptr

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        const auto context = context_of(w, multiprocessors);
        Dice dice{seed + t * 0x5851f42d4c957f2dU};
        for (unsigned i = 0; i < rounds; ++i) {
            Block& slot = slots[t * slots_each + dice.below(slots_each)];
            if (slot.data != nullptr) {
                release(ref, context, slot, tally[t]);
                slot.data = nullptr;
            } else {
                slot = request(ref, context, dice.size(largest), dice.next(), tally[t]);
                if (log != nullptr) log[std::uint64_t{t} * rounds + i] = slot;
            }
        }
    }
};

/// Every thread puts new blocks into boxes that all share, and frees what it finds there: blocks
/// that another thread allocated and wrote a moment ago.
template <class Ref>
struct HandOverBody {
    Ref ref;
    std::uint64_t* boxes;  ///< addresses of Blocks, each at the start of its own memory; or 0
    unsigned box_count;
    unsigned rounds;
    std::uint64_t largest;
    std::uint64_t seed;
    unsigned multiprocessors;
    Tally* tally;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        const auto context = context_of(w, multiprocessors);
        Dice dice{seed + t * 0x5851f42d4c957f2dU};
        for (unsigned i = 0; i < rounds; ++i) {
            const std::uint64_t bytes = sizeof(Block) + dice.size(largest);
            put(request(ref, context, bytes, dice.next(), tally[t]), dice, context, tally[t]);
        }
    }

    /// Puts a block of at least sizeof(Block) bytes, or nothing, into a box, and frees what was
    /// there.
    HEAPWOOD_FN void put(const Block& b, Dice& dice, const allocators::Context& context,
                         Tally& own) const {
        if (b.data != nullptr) *static_cast<Block*>(b.data) = b;
        // Release: hands over what was written to the block. Acquire: sees it.
        const std::uint64_t found = platform::AtomicRef(boxes[dice.below(box_count)])
                                        .exchange_acq_rel(reinterpret_cast<std::uint64_t>(b.data));
        if (found != 0) take_back(found, context, own);
    }

    /// Frees the block at that address, once its description has been put back under the stamp.
    HEAPWOOD_FN void take_back(std::uint64_t address, const allocators::Context& context,
                               Tally& own) const {
        auto* p = reinterpret_cast<unsigned char*>(address);
        const Block b = *reinterpret_cast<const Block*>(p);
        if (b.data != p) {
            ++own.corrupt;
            return;
        }
        for (std::uint64_t i = 0; i < sizeof(Block); ++i) p[i] = stamp_byte(b.stamp, i);
        release(ref, context, b, own);
    }
};

/// As HandOverBody, but every other request is for a pair, whose halves go into different boxes:
/// they are freed apart, by different threads. Of some pairs a half cannot be had.
template <class Ref>
struct PairHandOverBody {
    HandOverBody<Ref> hand_over;
    std::uint64_t too_large;  ///< a size that is to be refused

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const HandOverBody<Ref>& h = hand_over;
        const unsigned t = w * W::width + warp.lane();
        const auto context = context_of(w, h.multiprocessors);
        Tally& own = h.tally[t];
        Dice dice{h.seed + t * 0x5851f42d4c957f2dU};
        for (unsigned i = 0; i < h.rounds; ++i) {
            Block pair[2];
            for (Block& b : pair) {
                b = {nullptr, sizeof(Block) + dice.size(h.largest), 0, dice.next()};
            }
            unsigned count = 2;
            switch (const std::uint64_t roll = dice.below(16); roll) {
                case 0:
                    pair[dice.below(2)].bytes = 0;
                    break;
                case 1:
                    pair[dice.below(2)].bytes = too_large;
                    break;
                default:
                    count = 1 + roll % 2;
            }
            if (count == 2) {
                request_pair(h.ref, context, pair, own);
            } else {
                pair[0] = request(h.ref, context, pair[0].bytes, pair[0].stamp, own);
            }
            for (unsigned k = 0; k < count; ++k) h.put(pair[k], dice, context, own);
        }
    }
};

/// Lanes use two pools at the same time, neighbours not the same one: in each call all lanes ask
/// for blocks of one size, or free one. Every other block is freed.
template <class Ref>
struct TwoPoolsBody {
    Ref refs[2];    ///< that of thread t is t % 2
    Block* blocks;  ///< of thread t: [t * each, (t + 1) * each)
    unsigned each;
    unsigned multiprocessors;
    Tally* tally;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        const auto context = context_of(w, multiprocessors);
        const Ref& ref = refs[t % 2];
        Block* own = blocks + std::uint64_t{t} * each;
        for (unsigned i = 0; i < each; ++i) {
            const std::uint64_t stamp = (std::uint64_t{t} << 32) + i;
            own[i] = request(ref, context, std::uint64_t{16} << i % 5, stamp, tally[t]);
        }
        for (unsigned i = 0; i < each; i += 2) {
            if (own[i].data != nullptr) release(ref, context, own[i], tally[t]);
            own[i].data = nullptr;
        }
    }
};

/// The first thread frees what HandOverBody left in the boxes.
template <class Ref>
struct EmptyBoxesBody {
    HandOverBody<Ref> hand_over;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w * W::width + warp.lane() != 0) return;
        for (unsigned i = 0; i < hand_over.box_count; ++i) {
            if (hand_over.boxes[i] == 0) continue;
            hand_over.take_back(hand_over.boxes[i], context_of(w, 1), hand_over.tally[0]);
        }
    }
};

}  // namespace heapwood::tests
