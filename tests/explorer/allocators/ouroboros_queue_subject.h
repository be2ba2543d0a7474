/// @file
/// A queue of Ouroboros as a program for the explorer: what threads can do with it, and everything
/// that must hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocators/ouroboros.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/memory.h"

namespace heapwood::tests::explorer {

namespace ouroboros_queues {

using allocators::Context;
using allocators::Place;
using allocators::PoolConfig;
using namespace allocators::ouroboros;

constexpr std::uint32_t kChunkBytes = 16;

/// How many faults of each kind are found.
struct Found {
    unsigned no_acquire, no_release, torn, lost;
};

/// Less patience than would be good for anything but a short exploration.
struct ShortPolicy : PagesInQueues {
    static constexpr unsigned kPatience = 1;
    /// Log2 of the entries that there can be.
    static constexpr std::uint32_t kEntriesShift = 5;
};
/// A ring with a place for each entry that there can be.
struct Ring : ShortPolicy {
    static constexpr const char* kName = "ring";
    static constexpr std::uint32_t kEntriesShift = 1;
    /// Not torn accesses to the ring's places, which are one thread's at a time.
    static constexpr Found kFound{2, 1, 5, 7};
    template <class Policy>
    using Queue = StandardQueue<Policy>;
};
/// A ring that may be full.
struct ShortRing : ShortPolicy {
    static constexpr const char* kName = "short ring";
    static constexpr std::uint32_t kMostEntries = 2;
    static constexpr Found kFound{2, 1, 6, 8};
    template <class Policy>
    using Queue = StandardQueue<Policy>;
};
/// Parts in an array of two places.
struct Array : ShortPolicy {
    static constexpr const char* kName = "array";
    static constexpr std::uint32_t kMostParts = 2;
    /// Not those of who makes room, which is a hint; of what one thread at a time changes, or
    /// others do as well; nor the order of what counts a part's takers: it concerns loads that come
    /// before it, which nothing overtakes in this model (memory.h).
    static constexpr Found kFound{3, 2, 9, 16};
    template <class Policy>
    using Queue = VirtualArrayQueue<Policy>;
};
/// Parts in a list.
struct List : ShortPolicy {
    static constexpr const char* kName = "list";
    /// In the list alone. Not what its head has said already.
    static constexpr Found kFound{4, 4, 1, 7};
    template <class Policy>
    using Queue = VirtualListQueue<Policy>;
};
template <class Policy>
constexpr bool kIsVirtual = std::is_same_v<Policy, Array> || std::is_same_v<Policy, List>;

/// What is there when the threads begin.
struct Start {
    unsigned passed;     ///< entries that have come and gone
    unsigned inside;     ///< entries in the queue; they are numbered from 0 on
    unsigned spare = 4;  ///< chunks that a virtual queue can have, beside its present ones
};

/// The queue of one class, and entries that wander between it and threads. Reported are: an entry
/// that comes out twice, or was not put; one of which the owner does not see what the one before
/// did; a request that fails without need; and at the end, an entry or a chunk that is lost.
template <class Policy>
class Subject {
    using Queue = typename Policy::template Queue<Policy>;

public:
    using Thread = std::function<void(Subject&)>;

    explicit Subject(const Start& start) {
        host_.reset();
        host_.set(control_, 0);
        for (unsigned i = 0; i < start.passed; ++i) {
            put_or_extend({}, 0);
            queue_.take(chunks_, {}, control_, 0, 0, platform::Alone());
        }
        owners_at_first_.fill(kNobody);
        for (unsigned i = 0; i < start.inside; ++i) {
            if (!put_or_extend({}, i)) {
                throw std::invalid_argument("the queue has no room for the first entries");
            }
            owners_at_first_[i] = kQueued;
        }
        // What is not to be had is taken in large blocks, over which the list steps at once.
        const std::uint32_t used = chunks_out();
        const std::uint32_t left = used + (kIsVirtual<Policy> ? start.spare : 0);
        for (std::uint32_t n = kChunks - left; n > 0; --n) {
            while (chunks_out() + n <= kChunks - left + used &&
                   chunks_.take_block({}, n * kChunkBytes) != nullptr) {
            }
        }
        away_ = chunks_out() - used;
    }
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;

    /// Puts an entry that nobody has, or the calling thread. @return whether there is room.
    bool put(std::uint32_t entry) {
        poke(payloads_[entry].word, thread() + 1);
        access(&payloads_[entry], sizeof(Payload));
        owners_[entry] = kComing;
        begin_operation("put", entry);
        const bool done = put_or_extend(context(), entry);
        const bool alone = end_operation(done ? 1 : 0);
        const bool taken = owners_[entry] != kComing;
        owners_[entry] = taken ? owners_[entry] : done ? kQueued : thread();
        if (done) return true;
        if (taken) fail("an entry comes out that was not put");
        if (alone && has_room()) fail("no room for an entry although there is");
        return false;
    }
    /// Puts an entry for which there must be room, whatever the others do.
    void must_put(std::uint32_t entry) {
        if (!put(entry)) fail("no room for an entry for which there must be");
    }

    /// Takes an entry, or kNone.
    std::uint32_t take() {
        begin_operation("take", 0);
        const std::uint32_t entry =
            queue_.take(chunks_, context(), control_, 0, 0, platform::Alone());
        const bool alone = end_operation(entry);
        if (entry == kNone) {
            if (alone && count() != 0) fail("no entry although there is one");
            return kNone;
        }
        if (entry >= kEntries) fail("an entry comes out that there never was");
        if (owners_[entry] != kQueued && owners_[entry] != kComing) {
            fail("an entry comes out that is not in the queue");
        }
        owners_[entry] = thread();
        access(&payloads_[entry], sizeof(Payload));
        return entry;
    }
    /// Takes an entry where there must be one, whatever the others do.
    std::uint32_t must_take() {
        const std::uint32_t entry = take();
        if (entry == kNone) fail("no entry where there must be one");
        return entry;
    }
    void trim() {
        begin_operation("trim", 0);
        queue_.trim(chunks_, context(), control_, 0);
        end_operation(0);
    }

    /// These threads. The subject must live as long.
    Program program(const std::vector<Thread>& threads) {
        Program p;
        for (const Thread& t : threads) {
            p.threads.emplace_back([this, &t] { t(*this); });
        }
        p.begin = [this] { owners_ = owners_at_first_; };
        p.finish = [this] { finish(); };
        p.shared = [this] {
            std::uint64_t h = 0;
            for (const unsigned owner : owners_) h = mix(h, owner);
            return h;
        };
        p.name = [this](std::uintptr_t a) { return name(a); };
        return p;
    }

private:
    static constexpr std::uint32_t kChunks = 32;
    static constexpr std::uint64_t kBytes = kChunks * kChunkBytes;
    static constexpr unsigned kEntries = 12;
    // Owners that are no threads.
    static constexpr unsigned kNobody = 100;
    static constexpr unsigned kComing = 101;  ///< it is being put
    static constexpr unsigned kQueued = 102;

    struct alignas(16) Payload {
        std::uint32_t word;
    };

    static Geometry geometry() {
        Geometry g{};
        g.chunks = kChunks;
        g.chunk_shift = g.unit_shift = 4;
        g.classes = g.shards = 1;
        g.shard_shift = Policy::kEntriesShift;
        return g;
    }
    char* pool() const { return chunks_.address(0); }
    static Context context() { return {thread(), thread()}; }

    /// As Stock::put_entry() does.
    bool put_or_extend(const Context& context, std::uint32_t entry) {
        while (!queue_.put(chunks_, control_, 0, 0, platform::Alone(), entry)) {
            if (!queue_.extend(chunks_, context, control_, 0, 0)) return false;
        }
        return true;
    }

    /// Entries that have been put and not been taken.
    unsigned count() const {
        return static_cast<unsigned>(std::count(owners_.begin(), owners_.end(), kQueued));
    }
    /// Whether there is room for one more entry than there seems to be. Nobody else is active.
    bool has_room() const {
        const Aside aside;
        if constexpr (!kIsVirtual<Policy>) {
            return count() < 2;
        } else {
            if (static_cast<std::int32_t>(control_.room) > 0) return true;
            const std::uint64_t parts = control_.next_part - control_.front / 4;
            return chunks_out() < kChunks && (std::is_same_v<Policy, List> || parts < 2);
        }
    }
    /// Chunks that the list has given away.
    std::uint32_t chunks_out() const {
        std::uint64_t bytes = 0;
        list_.for_each_region([&](const auto& r) { bytes += r.allocated ? r.size : 0; });
        return static_cast<std::uint32_t>(bytes / kChunkBytes);
    }

    void finish() {
        while (take() != kNone) {
        }
        if (count() != 0) fail("an entry is lost");
        if (!kIsVirtual<Policy>) {
            if (std::is_same_v<Policy, ShortRing> && control_.room != 2) fail("room is lost");
            for (std::uint32_t i = 0; i < 2; ++i) must_put(i);
            while (take() != kNone) {
            }
        }
        trim();
        const Aside aside;
        if (chunks_out() != away_ || chunks_.taken() != 0) fail("a chunk is lost");
        for (const std::uint64_t s : states_) {
            if (s != 0) fail("a chunk is a queue's that has none");
        }
    }

    std::string name(std::uintptr_t a) const {
        const auto in = [a](const auto& object) {
            const auto begin = reinterpret_cast<std::uintptr_t>(&object);
            return a >= begin && a < begin + sizeof(object);
        };
        if (in(control_.filled)) return "filled";
        if (in(control_.room)) return "room";
        if (in(control_.front)) return "front";
        if (in(control_.back)) return "back";
        if (in(control_)) {
            return "control+" + std::to_string(a - reinterpret_cast<std::uintptr_t>(&control_));
        }
        const auto begin = reinterpret_cast<std::uintptr_t>(pool());
        return a >= begin && a < begin + kBytes ? "pool+" + std::to_string(a - begin) : "";
    }

    PoolConfig config_{.bytes = kBytes};
    typename Chunks<Policy>::List list_{config_, 4};
    std::vector<std::uint64_t> states_ = std::vector<std::uint64_t>(kChunks);
    std::vector<std::uint32_t> masks_ = std::vector<std::uint32_t>(kChunks);
    ListWords words_{};
    Chunks<Policy> chunks_{list_, geometry(), states_.data(), masks_.data(), &words_};
    typename Queue::Host host_{geometry(), Place::host};
    Queue queue_ = host_.queue();
    Control control_{};
    std::uint32_t away_ = 0;
    std::array<unsigned, kEntries> owners_at_first_{};
    std::array<unsigned, kEntries> owners_{};
    std::array<Payload, kEntries> payloads_{};
};

}  // namespace ouroboros_queues

}  // namespace heapwood::tests::explorer
