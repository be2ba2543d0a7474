/// @file
/// The stress that the published circular allocators do not survive and the sound ones do: threads
/// stalled at every dangerous point, a pool so small that chunks merge and split all the time, and
/// payloads that look like headers. An oracle beside the pool knows who owns each of its bytes.
///
/// Included by published_stress_test.cpp for the CPU and by published_stress_test.cu for the GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "allocators/circular.cuh"
#include "allocators/specimens/cfmalloc_published.cuh"
#include "allocators/specimens/cmalloc_published.cuh"
#include "tests/allocators/bodies.h"
#include "tests/allocators/fixture.h"
#include "tests/allocators/stalling.h"
#include "tests/seed.h"

namespace heapwood::tests {

/// A policy whose threads now and then stall where that may hurt.
template <class Policy>
struct Stalling : Policy {
    HEAPWOOD_INLINE static void pause() {
#if defined(__CUDA_ARCH__)
        // The clock is as good as dice.
        const auto roll = static_cast<std::uint32_t>(clock64()) * 0x9e3779b1U >> 24;
        if (roll < 8) __nanosleep(roll == 0 ? 20000 : 1000);
#elif !defined(__CUDACC__)
        stall_now_and_then(16);
#endif
    }
};

/// A published form in a pool of a few hundred chunks: what it finds in 10^6 steps, it finds in
/// 2000 as well.
template <class Policy>
struct Hurried : Policy {
    static constexpr std::uint32_t kMostSteps = 2000;
};

/// A published form that leaves out what breaks it.
template <class Policy>
struct Unmerged : Policy {
    static constexpr bool kMerges = false;
};

/// The specimens, their like without merging, and the sound forms, each under a Decoration of its
/// policy: one that stalls.
template <template <class> class Decoration>
using PublishedForms = ::testing::Types<
    allocators::circular::PublishedMalloc<Decoration<Hurried<allocators::CMallocPublishedPolicy>>>,
    allocators::circular::PublishedMalloc<
        Decoration<Hurried<allocators::CFMallocPublishedPolicy>>>>;
template <template <class> class Decoration>
using UnmergedForms =
    ::testing::Types<allocators::circular::PublishedMalloc<
                         Decoration<Unmerged<Hurried<allocators::CMallocPublishedPolicy>>>>,
                     allocators::circular::PublishedMalloc<
                         Decoration<Unmerged<Hurried<allocators::CFMallocPublishedPolicy>>>>>;
template <template <class> class Decoration>
using SoundForms =
    ::testing::Types<allocators::circular::CircularMalloc<Decoration<allocators::CMallocPolicy>>,
                     allocators::circular::CircularMalloc<Decoration<allocators::CFMallocPolicy>>,
                     allocators::circular::CircularMalloc<Decoration<allocators::CMMallocPolicy>>,
                     allocators::circular::CircularMalloc<Decoration<allocators::CFMMallocPolicy>>>;

/// Tests of several forms bear their names.
struct FormNames {
    template <class A>
    static std::string GetName(int) {
        std::string name = A::traits().name;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    }
};

/// What the owners of blocks write to them, after zeroes.
enum class Payload {
    zeroes,   ///< nothing else
    indices,  ///< small numbers, as a builder's arrays hold
    hostile,  ///< words that pass for headers
};
inline constexpr std::array kPayloads{Payload::zeroes, Payload::indices, Payload::hostile};

/// Word `i` of a block's payload.
HEAPWOOD_FN inline std::uint32_t payload_word(Payload payload, std::uint64_t stamp, std::uint64_t i,
                                              std::uint64_t pool) {
    if (payload == Payload::zeroes) return 0;
    if (payload == Payload::indices) return static_cast<std::uint32_t>(stamp % 64 + i);
    Dice dice{stamp + i};
    const std::uint64_t roll = dice.next();
    const auto offset = static_cast<std::uint32_t>(roll / 64 % (pool / 16) * 16);
    switch (roll % 8) {
        case 0:
            return static_cast<std::uint32_t>(roll >> 32);
        case 1:
        case 2:
            return offset | 1U << 31;
        case 3:
        case 4:
            return 0;
        default:
            return offset;
    }
}

/// A block in the hands of a stress.
struct StressBlock {
    std::uint32_t* data;  ///< nullptr: none
    std::uint64_t words;
    std::uint64_t stamp;
    bool written;  ///< else it is still all zeroes
};

/// What one thread did and saw.
struct StressTally {
    std::uint64_t requests;
    std::uint64_t frees;
    std::uint64_t failed;    ///< requests answered with nullptr
    std::uint64_t overlaps;  ///< blocks of which a part belonged to another when they were had
    std::uint64_t corrupt;   ///< payloads that were not what their owner had written
};

/// Every thread leads slots of its own through their life, at random: a block of zeroes, one with
/// a payload, none. `owners` has a word for every 16 bytes of the pool: who owns them, or 0. It is
/// relaxed, so that it orders nothing for the allocator, and so are the findings exact: a former
/// owner's zero happens before the next owner's claim if the allocator keeps its word.
template <class Ref>
struct StressBody {
    static constexpr unsigned kSlots = 4;

    Ref ref;
    StressBlock* slots;  ///< of thread t: [t * kSlots, (t + 1) * kSlots); kept between runs
    std::uint32_t* owners;
    std::uint32_t owner_mask;  ///< size of owners, less one; covers the pool
    std::uint64_t pool;
    std::uint64_t largest;
    unsigned rounds;  ///< 0: free what is left
    Payload payload;
    std::uint64_t seed;
    unsigned multiprocessors;
    StressTally* tally;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        const auto context = context_of(w, multiprocessors);
        Dice dice{seed + t * 0x5851f42d4c957f2dU};
        for (unsigned i = 0; i < rounds; ++i) {
            const unsigned slot = t * kSlots + static_cast<unsigned>(dice.below(kSlots));
            advance(context, slot, dice, tally[t]);
        }
        for (unsigned i = 0; rounds == 0 && i < kSlots; ++i) {
            if (slots[t * kSlots + i].data != nullptr) {
                release(context, t * kSlots + i, tally[t]);
            }
        }
    }

private:
    HEAPWOOD_FN void advance(const allocators::Context& context, unsigned slot, Dice& dice,
                             StressTally& own) const {
        StressBlock& b = slots[slot];
        if (b.data != nullptr && b.written) return release(context, slot, own);
        if (b.data != nullptr) {
            if (!intact(b)) ++own.corrupt;
            b.written = true;
            for (std::uint64_t i = 0; i < b.words; ++i) b.data[i] = expected(b, i);
            return;
        }
        b.words = 1 + dice.size(largest) / 4;
        b.stamp = dice.next();
        b.written = false;
        b.data = static_cast<std::uint32_t*>(ref.allocate(context, b.words * 4));
        ++own.requests;
        if (b.data == nullptr) {
            ++own.failed;
            return;
        }
        if (!claim(b, slot + 1)) ++own.overlaps;
        for (std::uint64_t i = 0; i < b.words; ++i) b.data[i] = 0;
    }

    HEAPWOOD_FN void release(const allocators::Context& context, unsigned slot,
                             StressTally& own) const {
        const StressBlock b = slots[slot];
        slots[slot].data = nullptr;
        if (!intact(b)) ++own.corrupt;
        disclaim(b, slot + 1);
        ref.deallocate(context, b.data, b.words * 4);
        ++own.frees;
    }

    HEAPWOOD_FN std::uint32_t expected(const StressBlock& b, std::uint64_t i) const {
        return b.written ? payload_word(payload, b.stamp, i, pool) : 0;
    }
    HEAPWOOD_FN bool intact(const StressBlock& b) const {
        for (std::uint64_t i = 0; i < b.words; ++i) {
            if (b.data[i] != expected(b, i)) return false;
        }
        return true;
    }
    HEAPWOOD_FN platform::AtomicRef<std::uint32_t> owner(const StressBlock& b,
                                                         std::uint64_t i) const {
        const auto granule = reinterpret_cast<std::uintptr_t>(b.data + i) / 16;
        return platform::AtomicRef<std::uint32_t>(owners[granule & owner_mask]);
    }
    /// Enters the owner for all of the block. @return false if any of it belonged to another.
    HEAPWOOD_FN bool claim(const StressBlock& b, std::uint32_t id) const {
        bool alone = true;
        for (std::uint64_t i = 0; i < b.words; i += 4) {
            std::uint32_t nobody = 0;
            if (!owner(b, i).cas_relaxed(nobody, id)) alone = false;
        }
        return alone;
    }
    HEAPWOOD_FN void disclaim(const StressBlock& b, std::uint32_t id) const {
        for (std::uint64_t i = 0; i < b.words; i += 4) {
            std::uint32_t mine = id;
            owner(b, i).cas_relaxed(mine, 0);
        }
    }
};

/// What a number of runs found.
struct Findings {
    std::uint64_t runs = 0;
    std::uint64_t broken_runs = 0;  ///< with any finding
    std::uint64_t operations = 0;   ///< requests and frees
    std::uint64_t failed = 0;       ///< requests: no finding, the pool may have been full
    std::uint64_t overlaps = 0;
    std::uint64_t corrupt = 0;        ///< payloads
    std::uint64_t walks = 0;          ///< calls that met an offset where no header can be
    std::uint64_t broken_chains = 0;  ///< runs after which the headers did not tile the pool
    std::uint64_t lost_bytes = 0;     ///< still allocated when every block had been freed

    std::uint64_t found() const {
        return overlaps + corrupt + walks + broken_chains + (lost_bytes > 0 ? 1 : 0);
    }
    void operator+=(const Findings& f) {
        runs += f.runs;
        broken_runs += f.broken_runs;
        operations += f.operations;
        failed += f.failed;
        overlaps += f.overlaps;
        corrupt += f.corrupt;
        walks += f.walks;
        broken_chains += f.broken_chains;
        lost_bytes += f.lost_bytes;
    }
};

/// What the host sees in an allocator of which every block has been freed.
template <class A>
Findings findings_at_rest(const A& a) {
    Findings f;
    if constexpr (requires { a.corrupt_walks(); }) f.walks = a.corrupt_walks();
    try {
        std::uint64_t used = 0;
        a.for_each_region([&](const allocators::Region& r) { used += r.allocated ? r.size : 0; });
        f.lost_bytes = used;
    } catch (const std::logic_error&) {
        f.broken_chains = 1;
    }
    return f;
}

/// Where and how much an allocator is stressed.
struct StressScale {
    unsigned warps;
    unsigned rounds;  ///< of each thread, in a run; about two in three are operations
    std::uint64_t pool;
    std::uint64_t largest;  ///< request
};

template <class A, class Machine>
class PublishedStress {
    using Ref = typename A::Ref;

public:
    explicit PublishedStress(const StressScale& scale)
        : scale_(scale),
          threads_(scale.warps * Machine::Warp::width),
          slots_(threads_ * StressBody<Ref>::kSlots),
          owners_(std::bit_ceil(scale.pool / 16 + 2)),
          tally_(threads_) {}

    /// One run in a fresh pool.
    Findings run(Payload payload, std::uint64_t seed) {
        A a({.place = Scale<Machine>::place,
             .bytes = scale_.pool,
             .largest_request = scale_.pool / 4,
             .multiprocessors = kMultiprocessors,
             .callers = scale_.warps});
        for (std::size_t i = 0; i < owners_.size(); ++i) owners_[i] = 0;
        for (std::size_t i = 0; i < tally_.size(); ++i) tally_[i] = {};
        StressBody<Ref> body{a.ref(),        slots_.data(),
                             owners_.data(), static_cast<std::uint32_t>(owners_.size() - 1),
                             scale_.pool,    scale_.largest,
                             scale_.rounds,  payload,
                             seed,           kMultiprocessors,
                             tally_.data()};
        Machine::run(scale_.warps, body);
        body.rounds = 0;
        Machine::run(scale_.warps, body);

        Findings f = findings_at_rest(a);
        for (std::size_t i = 0; i < tally_.size(); ++i) {
            f.operations += tally_[i].requests + tally_[i].frees;
            f.failed += tally_[i].failed;
            f.overlaps += tally_[i].overlaps;
            f.corrupt += tally_[i].corrupt;
        }
        f.runs = 1;
        f.broken_runs = f.found() > 0 ? 1 : 0;
        return f;
    }

private:
    static constexpr unsigned kMultiprocessors = 7;

    StressScale scale_;
    unsigned threads_;
    typename Machine::template Array<StressBlock> slots_;
    typename Machine::template Array<std::uint32_t> owners_;
    typename Machine::template Array<StressTally> tally_;
};

/// Prints a row of the table of findings, and the heading before the first.
inline void print_findings(const char* allocator, Payload payload, const Findings& f) {
    static bool headed = false;
    std::ostringstream text;
    if (!headed) {
        text << "allocator           payload  operations  failed  overlaps  corrupt   walks  "
                "chains  lost B  broken runs\n";
    }
    headed = true;
    constexpr std::array names{"zeroes", "indices", "hostile"};
    text << std::left << std::setw(20) << allocator << std::setw(7)
         << names[static_cast<std::size_t>(payload)] << std::right << std::setw(12) << f.operations
         << std::setw(8) << f.failed << std::setw(10) << f.overlaps << std::setw(9) << f.corrupt
         << std::setw(8) << f.walks << std::setw(8) << f.broken_chains << std::setw(8)
         << f.lost_bytes << std::setw(8) << f.broken_runs << " of " << f.runs << "\n";
    std::cout << text.str();
}

/// Stresses an allocator in many short runs with every payload. It must be found broken, or sound
/// with each of them.
template <class A, class Machine>
void stress(const StressScale& scale, unsigned runs, bool breaks) {
    const std::uint64_t seed = test_seed();
    PublishedStress<A, Machine> subject(scale);
    std::uint64_t broken_runs = 0;
    for (const Payload payload : kPayloads) {
        Findings sum;
        for (unsigned i = 0; i < runs; ++i) sum += subject.run(payload, seed + i);
        print_findings(A::traits().name, payload, sum);
        if (!breaks) {
            EXPECT_EQ(sum.found(), 0U);
        }
        broken_runs += sum.broken_runs;
        EXPECT_GT(sum.operations, sum.failed * 2) << "too little was granted for a test";
    }
    if (breaks) {
        EXPECT_GT(broken_runs, 0U);
    }
}

}  // namespace heapwood::tests
