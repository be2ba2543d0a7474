/// @file
/// Ouroboros' queues, step by step: two or three threads that put and take entries where a ring
/// has two places, or where a part of a virtual queue, which has four, begins or ends.
///
/// A thread that could go on is interrupted twice at most, and once where there are three.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocators/ouroboros.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/memory.h"

namespace heapwood::tests::explorer {

namespace {

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

template <class Policy>
struct Scenario {
    const char* name;
    Start start;
    std::vector<typename Subject<Policy>::Thread> threads;
    /// Of a thread that could go on, while faults are looked for that are not of memory order.
    unsigned preemptions_with_faults = 1;
};

template <class Policy>
std::vector<Scenario<Policy>> scenarios() {
    using S = Subject<Policy>;
    const auto put = [](std::uint32_t entry) { return [=](S& s) { s.must_put(entry); }; };
    const auto take = [](S& s) { s.take(); };
    const auto must_take = [](S& s) { s.must_take(); };
    const auto use = [](std::uint32_t entry) {
        return [=](S& s) {
            s.must_put(entry);
            s.must_take();
        };
    };
    // Takes an entry, and puts the same again.
    const auto turn = [](S& s) { s.put(s.must_take()); };
    std::vector<Scenario<Policy>> all = {
        {"both put", {2, 0}, {put(0), put(1)}},
        {"both want the only entry", {3, 1}, {take, take}},
        {"both take", {3, 2}, {must_take, must_take}},
        {"one takes what the other puts", {2, 0}, {put(0), take}},
        {"both put, and take", {2, 0}, {use(0), use(1)}},
        {"one takes and puts as the other takes", {3, 2}, {turn, must_take}},
        {"both take and put", {1, 2}, {turn, turn}},
        {"one takes what two put", {2, 0}, {put(0), put(1), take}},
        {"two want what one puts", {3, 0}, {put(0), take, take}},
    };
    if (!kIsVirtual<Policy>) {
        all.push_back({"one entry too many", {1, 1}, {[](S& s) { s.put(1); }, turn}});
        if constexpr (std::is_same_v<Policy, ShortRing>) {
            all.push_back({"both want the last place",
                           {1, 1},
                           {[](S& s) { s.put(1); }, [](S& s) { s.put(2); }}});
            all.push_back({"two put as one takes",
                           {1, 2},
                           {[](S& s) { s.put(2); }, [](S& s) { s.put(3); }, must_take}});
        }
        return all;
    }
    const auto may_put = [](std::uint32_t entry) { return [=](S& s) { s.put(entry); }; };
    const auto trim = [](S& s) { s.trim(); };
    all.insert(all.end(),
               {
                   {"both need the first part", {0, 0}, {put(0), put(1)}, 2},
                   {"there is one chunk for both", {0, 4, 1}, {may_put(4), may_put(5)}},
                   {"both use a part, one its last place", {3, 0}, {use(0), use(1)}},
                   {"a part is used up as another comes", {3, 1}, {must_take, use(1)}, 2},
                   {"two parts are used up",
                    {3, 5},
                    {must_take,
                     [](S& s) {
                         for (int i = 0; i < 4; ++i) s.must_take();
                     }}},
                   {"a part is used up by both, and its chunk is the next part",
                    {2, 6, 0},
                    {[=](S& s) {
                         s.must_take();
                         s.put(6);
                     },
                     must_take}},
                   {"a part that is trimmed gets an entry", {1, 0}, {trim, put(0)}},
                   {"a part is trimmed as its entry is taken", {1, 1}, {trim, must_take}},
                   {"both trim", {1, 0}, {trim, trim}},
               });
    if constexpr (std::is_same_v<Policy, List>) {
        all.push_back(
            {"both look for parts behind the first", {3, 6}, {must_take, must_take, may_put(6)}});
    }
    return all;
}

template <class Policy>
Result run(const Scenario<Policy>& s, Bounds bounds, const Mutation& mutation = {}) {
    Subject<Policy> subject(s.start);
    if (s.threads.size() > 2) bounds.preemptions = 1;
    return explore(subject.program(s.threads), bounds, mutation);
}

template <class Policy>
class OuroborosExplorer : public ::testing::Test {};
using Policies = ::testing::Types<Ring, ShortRing, Array, List>;
TYPED_TEST_SUITE(OuroborosExplorer, Policies);

TYPED_TEST(OuroborosExplorer, IsSound) {
    for (const auto& s : scenarios<TypeParam>()) {
        const Result r = run(s, {.preemptions = 2, .stale_reads = 1});
        std::cout << "  " << TypeParam::kName << ": " << s.name << ": " << r.executions
                  << " executions, " << r.states << " states\n";
        EXPECT_EQ(r.finding, "") << s.name << "\n" << r.schedule;
        EXPECT_TRUE(r.complete) << s.name;
    }
}

/// Breaks every source line of the queue in every way that applies to it, one at a time.
TYPED_TEST(OuroborosExplorer, FindsFaults) {
    Places places;
    for (const auto& s : scenarios<TypeParam>()) {
        const Result r = run(s, {.preemptions = 1, .stale_reads = 0});
        add_places(places, r, {"standard_queue.cuh", "array_map.cuh", "list_map.cuh"});
        // What both virtual queues have is broken once.
        if (std::is_same_v<TypeParam, List>) continue;
        add_places(places, r, {"semaphore.cuh", "virtual_queue.cuh"});
    }
    auto found = break_each(
        places,
        [](const Mutation& m) {
            const bool of_order = m.fault == Fault::no_acquire || m.fault == Fault::no_release;
            for (const auto& s : scenarios<TypeParam>()) {
                const Bounds bounds{.preemptions = !kIsVirtual<TypeParam> ? 2
                                                   : of_order             ? 1
                                                              : s.preemptions_with_faults,
                                    .stale_reads = of_order ? 1U : 0U,
                                    .steps = 200};
                const Result r = run(s, bounds, m);
                if (r.found()) return s.name + (": " + r.finding);
            }
            return std::string();
        },
        {Fault::no_acquire, Fault::no_release, Fault::torn, Fault::lost});
    EXPECT_EQ(found[Fault::no_acquire], TypeParam::kFound.no_acquire);
    EXPECT_EQ(found[Fault::no_release], TypeParam::kFound.no_release);
    EXPECT_EQ(found[Fault::torn], TypeParam::kFound.torn);
    EXPECT_EQ(found[Fault::lost], TypeParam::kFound.lost);
}

}  // namespace

}  // namespace heapwood::tests::explorer
