/// @file
/// The host object of the circular allocators: owns the pool, its table of header words and the
/// hints, splits the pool before use and walks it afterwards. ring.cuh has the algorithm.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/core.cuh"
#include "allocators/circular/header.cuh"
#include "allocators/circular/layout.h"
#include "allocators/memory/buffer.h"

namespace heapwood::allocators::circular {

/// A circular allocator; policy.cuh says what a Policy is.
template <class Policy>
class CircularMalloc {
public:
    using Ref = Core<Policy>;

    static constexpr Traits traits() { return Policy::traits(); }
    static constexpr std::span<const Option> options() requires(!Policy::kShares) {
        return kPresplit;
    }

    /// `smallest_shift`: log2 of the granule's bytes, at least; more only in pools that would
    /// otherwise have too many of them. `unit`: shares and stretches are cut at multiples of so
    /// many bytes, a power of two; 0: at any granule.
    explicit CircularMalloc(const PoolConfig& config, std::uint32_t smallest_shift = kSmallestShift,
                            std::uint64_t unit = 0)
        : shift_(std::max(smallest_shift, granule_shift(config.bytes))),
          granules_(static_cast<std::uint32_t>(config.bytes >> shift_)) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument(std::string(traits().name) + " needs a pool of at least " +
                                        std::to_string(traits().smallest_pool) + " bytes");
        }
        std::uint32_t hints = 0;
        if constexpr (Policy::kShares) {
            unit_ = granules_in(unit);
            shares_ = cut_shares<Policy>(granules_, shift_, config.largest_request,
                                         config.multiprocessors, unit_);
            starts_ = starts_of(shares_);
            hints = shares_.count * (shares_.stretches + 2) + 1;
        } else {
            starts_ = presplit(granules_, shift_, config.largest_request, presplit_of(config));
            refuges_ = std::bit_floor(std::clamp<std::uint32_t>(
                granules_ / Policy::kGranulesPerRefuge, 1, Policy::kRefuges));
            hints = 1 + refuges_;
        }
        pool_ = Buffer(config.place, pool_bytes());
        table_ = Buffer(config.place, (std::uint64_t{granules_} + 1) * sizeof(Cell));
        if constexpr (Policy::kBackward) {
            before_ = Buffer(config.place, (std::uint64_t{granules_} + 1) * sizeof(std::uint32_t));
        }
        hints_ = Buffer(config.place, std::uint64_t{hints} * kHintStride * sizeof(std::uint32_t));
        reset();
    }

    Ref ref() const {
        Ref r;
        r.ring_.pool_ = pool_.template as<char>();
        r.ring_.before_ = before_.template as<std::uint32_t>();
        r.ring_.headers_ = typename Policy::Headers(table_.template as<Cell>());
        r.ring_.granules_ = granules_;
        r.ring_.shift_ = shift_;
        r.hints_.hints_ = hints_.template as<std::uint32_t>();
        if constexpr (Policy::kShares) {
            r.hints_.unit_ = unit_;
            // A stretch, and the chunk of medium size, are for several requests each.
            r.hints_.small_ = shares_.stretch_size / 4;
            r.hints_.medium_ = (shares_.size - shares_.stretches * shares_.stretch_size) / 4;
            r.hints_.begin_ = shares_.begin;
            r.hints_.shares_ = Divisor(shares_.count);
            r.hints_.share_size_ = Divisor(shares_.size);
            r.hints_.stretch_size_ = Divisor(shares_.stretch_size);
            r.hints_.stretch_mask_ = shares_.stretches - 1;
        } else {
            r.hints_.levels_ = static_cast<std::uint32_t>(std::countr_zero(refuges_));
            r.hints_.part_ = refuge_size();
        }
        return r;
    }

    /// Frees everything and splits the pool anew.
    void reset() {
        // The whole table, not only the headers: a FREE word left over inside a chunk would be
        // taken for a live one.
        table_.zero();
        if constexpr (Policy::kBackward) before_.zero();
        write_headers();
        write_hints();
    }

    std::uint64_t pool_bytes() const { return std::uint64_t{granules_} << shift_; }
    /// The memory that the chunks are of.
    const Buffer& pool() const { return pool_; }
    std::uint64_t overhead_bytes() const { return table_.size() + before_.size() + hints_.size(); }

    /// @throws std::logic_error if the table is not a chain of chunks that tile the pool, which
    /// only an allocation or a free still going on, or a stray write, can bring about.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<Cell> block(std::min<std::uint64_t>(kWalkBlock, granules_));
        std::uint64_t first = 0;
        std::uint64_t loaded = 0;
        for (std::uint32_t at = 0; at < granules_;) {
            if (at >= first + loaded) {
                first = at;
                loaded = std::min<std::uint64_t>(block.size(), granules_ - first);
                table_.read(first * sizeof(Cell), block.data(), loaded * sizeof(Cell));
            }
            const Header h = Policy::Headers::decode(block[at - first]);
            const bool allocated = h.state == kUsed;
            if ((!allocated && h.state != kFree) || h.next <= at || h.next > granules_) {
                throw std::logic_error(std::string(traits().name) + ": corrupt header {state " +
                                       std::to_string(h.state) + ", next " +
                                       std::to_string(h.next) + "} at byte " +
                                       std::to_string(std::uint64_t{at} << shift_));
            }
            visit(Region{std::uint64_t{at} << shift_, std::uint64_t{h.next - at} << shift_,
                         allocated});
            at = h.next;
        }
    }

private:
    using Cell = typename Policy::Headers::Cell;

    std::uint32_t granules_in(std::uint64_t bytes) const {
        return static_cast<std::uint32_t>(std::max<std::uint64_t>(bytes >> shift_, 1));
    }

    /// Words that a walk reads at once: the table may have gigabytes.
    static constexpr std::uint64_t kWalkBlock = 1 << 14;
    /// Words that are written at once, about.
    static constexpr std::size_t kWriteBlock = 1 << 16;

    /// Granules of a refuge's part; what is left of the pool is the last one's as well.
    std::uint32_t refuge_size() const { return granules_ / refuges_; }

    /// Writes the headers of the first chunks and of the sentinel, all that is not zero.
    void write_headers() {
        constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
        constexpr std::uint32_t kWords = sizeof(Cell) / kWordBytes;
        std::vector<Word> words;
        const auto write = [&](std::uint32_t at, Header h) {
            const auto cell =
                std::bit_cast<std::array<std::uint32_t, kWords>>(Policy::Headers::encode(h));
            for (std::uint32_t i = 0; i < kWords; ++i) words.push_back({at * kWords + i, cell[i]});
            if (words.size() < kWriteBlock && at < granules_) return;
            table_.write_words(words.data(), words.size());
            words.clear();
        };
        for (std::size_t i = 0; i < starts_.size(); ++i) {
            write(starts_[i], {kFree, i + 1 < starts_.size() ? starts_[i + 1] : granules_});
        }
        write(granules_, {kUsed, 0});
    }

    /// A single hint is chunk 0. Its refuges are spread evenly over the pool: each is the first
    /// chunk that starts in its part, or where that begins, if none does. The hints of shares are
    /// where their stretches start.
    void write_hints() {
        std::vector<std::uint32_t> hints(hints_.size() / sizeof(std::uint32_t), 0);
        if constexpr (Policy::kShares) {
            for (std::uint32_t i = 0; i < shares_.count; ++i) {
                const std::uint32_t begin = shares_.begin + i * shares_.size;
                const auto set = [&](std::uint32_t hint, std::uint32_t stretch) {
                    hints[std::size_t{hint} * kHintStride] = begin + stretch * shares_.stretch_size;
                };
                for (std::uint32_t k = 0; k < shares_.stretches; ++k) {
                    set(i * shares_.stretches + k, k);
                }
                set(shares_.count * shares_.stretches + i, shares_.stretches);
            }
        } else {
            for (std::uint32_t i = 0; i < refuges_; ++i) {
                const std::uint32_t begin = i * refuge_size();
                const auto first = std::lower_bound(starts_.begin(), starts_.end(), begin);
                const bool has_one = first != starts_.end() && *first - begin < refuge_size();
                hints[(std::size_t{i} + 1) * kHintStride] = has_one ? *first : begin;
            }
        }
        hints_.write(0, hints.data(), hints_.size());
    }

    std::uint32_t shift_;
    std::uint32_t granules_;
    std::uint32_t unit_ = 1;
    Shares shares_{};
    std::uint32_t refuges_ = 0;
    std::vector<std::uint32_t> starts_;
    Buffer pool_;
    Buffer table_;
    Buffer before_;
    Buffer hints_;
};

}  // namespace heapwood::allocators::circular
