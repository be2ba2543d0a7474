/// @file
/// Bulk semaphores (Gelado & Garland 2019): counts of free units that know of batches on their way.
///
/// A semaphore counts units that somebody can find: blocks of a size, halves of a block. A thread
/// first gets its units by the count, and only then looks for them. If there are too few it either
/// waits for units that others have promised, or promises a batch itself: it keeps what it needs of
/// the batch and signals the rest. So of N threads that want a block at once no more than needed
/// fetch a bin of blocks.
///
/// **The word.** Published are three fields: units available (C), expected (E: promised and not yet
/// there), and reserved (R: wanted by those that wait for them). All decisions depend on C and on
/// the difference E - R, so the word holds these two: 36 bits for C, because the published 20 would
/// limit a pool to 4 GiB, and 28 for the difference.
///
/// **A promise may be broken.** A producer that fails takes its promise back: then more is reserved
/// than will come, all that wait see it, and think again: each of them takes what is there, waits
/// for the promises that remain, or produces. A producer that is stalled makes others wait for
/// Policy::kPatience pauses; then they produce themselves. So a wait has a bound, and nobody that
/// waits holds a unit of this semaphore.
///
/// **Memory order.** A signal is a release and a successful wait an acquire: a search that begins
/// after the wait sees all that the signals were for. A promise is an acquire: what the thread
/// takes away to keep it is taken afterwards. Taking a promise back is a release of what the thread
/// has put back before. A thread that is told to produce has acquired it, and finds that: else a
/// request could be refused although its memory was back. A reservation orders nothing, because the
/// thread that makes one looks again before it acts. Nor does Wait::none.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::bulkalloc {

/// A semaphore's word, as arithmetic: available << 28 | expected - reserved + kBalance.
using Count = std::uint64_t;

inline constexpr std::uint32_t kAheadBits = 28;
inline constexpr Count kBalance = Count{1} << (kAheadBits - 1);

/// The word of a semaphore with so many units.
HEAPWOOD_INLINE constexpr Count make_count(std::uint64_t available) {
    return available << kAheadBits | kBalance;
}
HEAPWOOD_INLINE constexpr std::int64_t available(Count w) {
    return static_cast<std::int64_t>(w >> kAheadBits);
}
/// Available units and those to come, less the reserved ones.
HEAPWOOD_INLINE constexpr std::int64_t prospects(Count w) {
    constexpr Count kAhead = (Count{1} << kAheadBits) - 1;
    return available(w) + static_cast<std::int64_t>(w & kAhead) -
           static_cast<std::int64_t>(kBalance);
}

/// What came of a wait.
enum class Wait {
    acquired,  ///< the caller may take its units
    produce,   ///< the caller has promised a batch, and must signal() or cancel() it
    none,      ///< neither: the caller did not want to produce
};

/// A semaphore in a word that it does not own. Policy::pause() is called before each step.
template <class Policy>
class Semaphore {
public:
    HEAPWOOD_INLINE explicit Semaphore(Count& word) : word_(word) {}

    /// Gets n units. @param batch units that the caller would produce, n of them for itself; at
    /// least n. 0: it does not produce
    HEAPWOOD_INLINE Wait wait(std::uint32_t n, std::uint32_t batch) const {
        return take(n, n) ? Wait::acquired : wait_longer(n, batch);
    }
    /// Gets n units if at least so many are available. @return whether it did
    HEAPWOOD_INLINE bool take(std::uint32_t n, std::uint32_t at_least) const {
        Policy::pause();
        Count seen = word_.load_relaxed();
        while (available(seen) >= at_least) {
            Policy::pause();
            // Acquire: what was made free.
            if (word_.cas_acquire(seen, seen - units(n))) return true;
        }
        return false;
    }
    /// Gets up to n units, but leaves `kept` ones. @return how many
    HEAPWOOD_FN std::uint32_t take_some(std::uint32_t n, std::uint32_t kept) const {
        for (;;) {
            const std::int64_t there = available(word_.load_relaxed()) - kept;
            if (there < n) n = there > 0 ? static_cast<std::uint32_t>(there) : 0;
            if (n == 0 || take(n, n + kept)) return n;
        }
    }
    /// Adds n units, of which `expected` had been promised.
    HEAPWOOD_INLINE void signal(std::uint32_t n, std::uint32_t expected) const {
        Policy::pause();
        // Release: what makes the units free, to the thread that gets them.
        word_.add_release(units(n) - expected);
    }
    /// Promises n units. Acquire: what the caller takes away to make them it takes afterwards.
    HEAPWOOD_INLINE void expect(std::uint32_t n) const {
        Policy::pause();
        word_.add_acquire(n);
    }
    /// Takes the promise of n units back.
    HEAPWOOD_INLINE void cancel(std::uint32_t n) const {
        Policy::pause();
        // Release: what the caller has put back, to a thread that no longer waits for the promise.
        word_.add_release(Count{0} - n);
    }

private:
    HEAPWOOD_INLINE static Count units(std::uint32_t n) { return Count{n} << kAheadBits; }

    HEAPWOOD_NOINLINE Wait wait_longer(std::uint32_t n, std::uint32_t batch) const {
        for (std::uint32_t pauses = 0;;) {
            if (take(n, n)) return Wait::acquired;
            Count seen = word_.load_relaxed();
            if (available(seen) >= n) continue;
            if (prospects(seen) < n || pauses >= Policy::kPatience) {
                if (batch == 0) return Wait::none;
                // Acquire: pairs with the release in cancel().
                if (word_.cas_acquire(seen, seen + (batch - n))) return Wait::produce;
                continue;
            }
            if (!word_.cas_relaxed(seen, seen - n)) continue;
            do {
                platform::back_off(pauses);
                Policy::pause();
                seen = word_.load_relaxed();
                ++pauses;
            } while (available(seen) < n && prospects(seen) >= 0 && pauses < Policy::kPatience);
            expect(n);  // no longer reserved
        }
    }

    platform::AtomicRef<Count> word_;
};

}  // namespace heapwood::allocators::bulkalloc
