/// @file
/// A set of numbers as a tree of bits, 64 to a word, after van Emde Boas: sets of segments, and of
/// blocks.
///
/// Bit i of the leaves says that i is in the set. A bit of a word above says that the word below it
/// is not 0, so that a search loads one word a level and passes over all that is empty.
///
/// **Leaves decide, summaries lead.** A number belongs to the thread that clears its leaf. Two
/// threads that change the same word may come to its summary in any order, therefore:
/// - A thread that sets a leaf sets all bits above it, also where it finds them set: the thread
///   that set them may still be on its way up.
/// - A thread that leaves a word empty clears the bit above, looks at the word again, and sets the
///   bit if the word is not empty any more. Either its clearing comes after the setting of another
///   thread, which it has then acquired, so that it sees that thread's leaf; or the setting comes
///   after it and stays.
/// So at rest no word with bits lacks a summary. A summary of a word without bits may remain, if a
/// thread sets it late; it costs a search one load.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/segments/layout.cuh"

namespace heapwood::allocators::segments {

/// How many words the levels of a tree have.
struct TreeShape {
    static constexpr std::uint32_t kMostLevels = 5;
    static constexpr std::uint32_t kMostBits = 1U << 6 * kMostLevels;

    std::uint32_t first[kMostLevels + 1];  ///< word of each level, the leaves' first; then the end
    std::uint32_t levels;

    /// For the numbers below `bits`, from 1 to kMostBits.
    static TreeShape of(std::uint32_t bits) {
        TreeShape shape{};
        do {
            bits = platform::ceil_div(bits, 64U);
            shape.first[shape.levels + 1] = shape.first[shape.levels] + bits;
            ++shape.levels;
        } while (bits > 1);
        return shape;
    }
    HEAPWOOD_INLINE std::uint32_t words() const { return first[levels]; }
};

/// A tree in words that it does not own. All methods may be called by any threads at once.
class BitTree {
public:
    using Word = platform::AtomicRef<std::uint64_t>;

    /// `words`: shape.words(), all 0 for an empty set. The shape must live as long.
    HEAPWOOD_INLINE BitTree(std::uint64_t* words, const TreeShape& shape)
        : words_(words), shape_(shape) {}

    /// Adds i. A release: what was done before, to the thread that removes i.
    HEAPWOOD_INLINE void set(std::uint32_t i) const { set(i / 64, bit(i)); }
    /// Removes i, with an acquire. @return whether it was in the set.
    HEAPWOOD_INLINE bool clear(std::uint32_t i) const { return clear(i / 64, bit(i)) != 0; }

    /// Adds numbers of one leaf word, one at least.
    HEAPWOOD_FN void set(std::uint32_t word, std::uint64_t bits) const {
        // Release: see set(i).
        at(0, word).set_release(bits);
        set_above(1, word);
    }
    /// Removes numbers of one leaf word, as clear(i). @return those that were in the set.
    HEAPWOOD_FN std::uint64_t clear(std::uint32_t word, std::uint64_t bits) const {
        // Acquire: see clear(i).
        std::uint64_t before = at(0, word).and_acquire(~bits);
        const std::uint64_t removed = before & bits;
        if (removed == 0) return 0;
        for (std::uint32_t level = 1; level < shape_.levels && (before & ~bits) == 0; ++level) {
            const std::uint32_t below = word;
            bits = bit(below);
            word /= 64;
            // Acquire: the word below, of the threads that have set this bit.
            before = at(level, word).and_acquire(~bits);
            if (at(level - 1, below).load_relaxed() != 0) {
                set_above(level, below);
                break;
            }
        }
        return removed;
    }
    /// The lowest number of the set from `from` on; kNone: it has found none. Numbers that come or
    /// go meanwhile it may see or miss, and those whose summary is about to be set.
    HEAPWOOD_FN std::uint32_t find(std::uint32_t from) const {
        std::uint32_t level = 0;
        for (;;) {
            if (from / 64 >= shape_.first[level + 1] - shape_.first[level]) return kNone;
            const std::uint64_t w = at(level, from / 64).load_relaxed() & ~std::uint64_t{0}
                                                                              << from % 64;
            if (w == 0) {
                from = from / 64 + 1;
                if (++level == shape_.levels) return kNone;
                continue;
            }
            from = from / 64 * 64 + platform::lowest_bit(w);
            if (level == 0) return from;
            from *= 64;
            --level;
        }
    }
    /// Whether i is in the set at the moment.
    HEAPWOOD_INLINE bool has(std::uint32_t i) const { return (leaves(i / 64) & bit(i)) != 0; }
    /// The leaf word's numbers at the moment.
    HEAPWOOD_INLINE std::uint64_t leaves(std::uint32_t word) const {
        return at(0, word).load_relaxed();
    }

private:
    HEAPWOOD_INLINE static std::uint64_t bit(std::uint32_t i) { return std::uint64_t{1} << i % 64; }
    HEAPWOOD_INLINE Word at(std::uint32_t level, std::uint32_t word) const {
        return Word(words_[shape_.first[level] + word]);
    }
    /// Sets the bits above word `below` of the level before `level`.
    HEAPWOOD_FN void set_above(std::uint32_t level, std::uint32_t below) const {
        for (; level < shape_.levels; ++level, below /= 64) {
            // Release: the word below, to the thread that clears this bit and looks again.
            at(level, below / 64).set_release(bit(below));
        }
    }

    std::uint64_t* words_;
    const TreeShape& shape_;
};

}  // namespace heapwood::allocators::segments
