/// @file
/// The host object of the circular allocators: owns the pool, its table of header words and the
/// hints, splits the pool before use and walks it afterwards. core.cuh has the algorithm.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/core.cuh"
#include "allocators/circular/layout.h"
#include "allocators/circular/word.cuh"
#include "allocators/heap.h"

namespace heapwood::allocators::circular {

/// A circular allocator; core.cuh says what a Policy is.
template <class Policy>
class CircularMalloc {
public:
    using Ref = Core<Policy>;

    static constexpr Traits traits() { return Policy::traits(); }

    explicit CircularMalloc(const PoolConfig& config)
        : shift_(granule_shift(config.bytes)),
          granules_(static_cast<std::uint32_t>(config.bytes >> shift_)),
          homes_(Policy::home_hints(config)),
          refuges_(std::bit_floor(
              std::clamp<std::uint32_t>(granules_ / kGranulesPerRefuge, 1, Policy::kRefuges))) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument(std::string(traits().name) + " needs a pool of at least " +
                                        std::to_string(traits().smallest_pool) + " bytes");
        }
        starts_ = presplit(granules_, shift_, config.largest_request);
        pool_ = Heap(config.place, pool_bytes());
        table_ = Heap(config.place, (std::uint64_t{granules_} + 1) * sizeof(Word));
        hints_ = Heap(config.place,
                      std::uint64_t{homes_ + refuges_} * kHintStride * sizeof(std::uint32_t));
        reset();
    }

    Ref ref() const {
        Ref r;
        r.pool_ = pool_.template as<char>();
        r.table_ = table_.template as<Word>();
        r.hints_ = hints_.template as<std::uint32_t>();
        r.granules_ = granules_;
        r.shift_ = shift_;
        r.homes_ = homes_;
        r.refuge_mask_ = refuges_ - 1;
        return r;
    }

    /// Frees everything and splits the pool anew.
    void reset() {
        // The whole table, not only the headers: a FREE word left over inside a chunk would be
        // taken for a live one.
        table_.zero();
        write_headers();
        write_hints();
    }

    std::uint64_t pool_bytes() const { return std::uint64_t{granules_} << shift_; }
    std::uint64_t overhead_bytes() const { return table_.size() + hints_.size(); }

    /// @throws std::logic_error if the table is not a chain of chunks that tile the pool, which
    /// only an allocation or a free still going on, or a stray write, can bring about.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<Word> block(std::min<std::uint64_t>(kWalkBlock, granules_));
        std::uint64_t first = 0;
        std::uint64_t loaded = 0;
        for (std::uint64_t at = 0; at < granules_;) {
            if (at >= first + loaded) {
                first = at;
                loaded = std::min<std::uint64_t>(block.size(), granules_ - first);
                table_.read(first * sizeof(Word), block.data(), loaded * sizeof(Word));
            }
            const Word w = block[at - first];
            const bool allocated = state_of(w) == kUsed;
            if ((!allocated && state_of(w) != kFree) || next_of(w) <= at ||
                next_of(w) > granules_) {
                throw std::logic_error(std::string(traits().name) + ": corrupt header word " +
                                       std::to_string(w) + " at byte " +
                                       std::to_string(at << shift_));
            }
            visit(Region{at << shift_, (next_of(w) - at) << shift_, allocated});
            at = next_of(w);
        }
    }

private:
    /// Fewer refuges in a small pool, which would otherwise be smaller than its hints.
    static constexpr std::uint32_t kGranulesPerRefuge = 256;
    /// Words that a walk reads at once: the table may have gigabytes.
    static constexpr std::uint64_t kWalkBlock = 1 << 14;
    /// Words that are written at once.
    static constexpr std::uint64_t kWriteBlock = 1 << 16;

    void write_headers() {
        const Word sentinel = make_word(kUsed, 0);
        table_.write(std::uint64_t{granules_} * sizeof(Word), &sentinel, sizeof(sentinel));
        // On a device a copy costs microseconds whatever its size, so headers near one another go
        // in one, with the zeroes between them. On the host that would only touch pages.
        const std::uint64_t reach = table_.place() == Place::device ? kWriteBlock : 1;
        std::vector<Word> block;
        for (std::size_t i = 0; i < starts_.size();) {
            const std::uint32_t first = starts_[i];
            block.clear();
            for (; i < starts_.size() && starts_[i] - first < reach; ++i) {
                block.resize(starts_[i] - first + 1, 0);
                block.back() =
                    make_word(kFree, i + 1 < starts_.size() ? starts_[i + 1] : granules_);
            }
            table_.write(first * sizeof(Word), block.data(), block.size() * sizeof(Word));
        }
    }

    /// Homes and refuges are each spread evenly over the chunks; a single home is chunk 0.
    void write_hints() {
        std::vector<std::uint32_t> hints(hints_.size() / sizeof(std::uint32_t), 0);
        for (std::uint64_t i = 0; i < homes_; ++i) {
            hints[i * kHintStride] = starts_[i * starts_.size() / homes_];
        }
        for (std::uint64_t i = 0; i < refuges_; ++i) {
            hints[(homes_ + i) * kHintStride] = starts_[i * starts_.size() / refuges_];
        }
        hints_.write(0, hints.data(), hints_.size());
    }

    std::uint32_t shift_;
    std::uint32_t granules_;
    std::uint32_t homes_;
    std::uint32_t refuges_;
    std::vector<std::uint32_t> starts_;
    Heap pool_;
    Heap table_;
    Heap hints_;
};

}  // namespace heapwood::allocators::circular
