/// @file
/// How the builder's warps wait for one another and hand pieces to one another, step by step: the
/// barrier of the first stage; the queue; and on it warps with stacks and credits that divide the
/// nodes of a tree, while the build fails or does not.
///
/// Warps are of width 1. What stands in for a node's references is a word that the divider of the
/// node's parent writes, and that whoever divides or frees the node must own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators/platform/warp.cuh"
#include "kdtree/single/grid_barrier.cuh"
#include "kdtree/single/warp_tasks.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::builder_scenarios {

namespace {

using kdtree::BuildState;
using kdtree::Piece;
using kdtree::Split;

/// A warp whose pauses let others get on.
struct Warp : platform::SerialWarp {
    static void back_off(unsigned turn) { platform::back_off(turn); }
};

// ---------------------------------------------------------------- the barrier

constexpr std::uint32_t kAtBarrier = 2;

struct BarrierMemory {
    kdtree::BarrierState state;
    std::uint32_t words[kAtBarrier];
};
BarrierMemory at_barrier;

/// A few turns: in each a warp has the word that another had in the turn before, and then waits.
void meet(std::uint32_t warp) {
    begin_operation("meet", warp);
    kdtree::GridBarrier<Warp, kdtree::SoloTeam> barrier(Warp{}, {warp, kAtBarrier},
                                                        at_barrier.state);
    for (std::uint32_t turn = 0; turn < 3; ++turn) {
        std::uint32_t& word = at_barrier.words[(warp + turn) % kAtBarrier];
        access(&word, sizeof(word));
        if (word != turn) fail("a warp went on too early");
        poke(word, turn + 1);
        barrier.wait();
    }
    end_operation(0);
}

Result run_barrier(const Bounds& bounds, const Mutation& mutation = {}) {
    Program program;
    for (std::uint32_t warp = 0; warp < kAtBarrier; ++warp) {
        program.threads.emplace_back([=] { meet(warp); });
    }
    program.begin = [] {
        for (std::uint32_t& word : at_barrier.words) word = 0;
    };
    program.shared = [] { return at_barrier.words[0] | at_barrier.words[1] << 8; };
    at_barrier = {};
    return explore(program, bounds, mutation);
}

TEST(BuilderExplorer, BarrierIsSound) {
    expect_nothing_found(run_barrier({.preemptions = 4, .stale_reads = 2}), "barrier");
}

// ---------------------------------------------------------------- the queue

/// Four words that are the same, copied one by one in the explorer's sight.
struct Message {
    std::uint32_t words[4];

    Message& operator=(const Message& other) {
        for (int i = 0; i < 4; ++i) poke(words[i], other.words[i]);
        access(this, sizeof(*this));
        return *this;
    }
};
using Queue = kdtree::TaskQueue<Message>;

/// A queue with two slots, whose first ticket is `first`.
struct QueueMemory {
    kdtree::TaskSlot<Message> slots[2];
    kdtree::Counter head;
    kdtree::Counter tail;

    void begin(std::uint32_t first) {
        head.value = tail.value = first;
        for (std::uint32_t i = 0; i < 2; ++i) {
            slots[(first + i) & 1U].sequence = 2 * ((first + i) >> 1);
        }
    }
    Queue queue() { return {slots, 1, &head, &tail}; }
};

/// The number of the first ticket, and how many messages each giver gives; one warp takes them all.
struct QueueScenario {
    std::uint32_t first;
    std::vector<unsigned> given;
};
std::vector<QueueScenario> queue_scenarios() {
    return {{0, {3}}, {0, {1, 1}}, {0xfffffffeU, {3}}, {0xffffffffU, {1, 1}}};
}

Result run_queue(const QueueScenario& s, const Bounds& bounds, const Mutation& mutation = {}) {
    static QueueMemory memory;
    memory.begin(s.first);
    Program program;
    unsigned all = 0;
    for (std::uint32_t giver = 0; giver < s.given.size(); ++giver) {
        all += s.given[giver];
        program.threads.emplace_back([giver, n = s.given[giver]] {
            for (std::uint32_t k = 0; k < n; ++k) {
                begin_operation("give", giver * 16 + k);
                Message message;
                for (std::uint32_t& word : message.words) word = giver * 16 + k;
                memory.queue().give(Warp{}, message, [] {});
                end_operation(0);
            }
        });
    }
    program.threads.emplace_back([n = all] {
        for (std::uint32_t k = 0; k < n; ++k) {
            begin_operation("take", k);
            const Queue queue = memory.queue();
            const std::uint32_t ticket = queue.take_ticket();
            for (unsigned turn = 0; !queue.poll(ticket); ++turn) Warp::back_off(turn);
            const Message& message = queue.task_of(ticket);
            access(&message, sizeof(message));
            const std::uint32_t value = message.words[0];
            for (const std::uint32_t word : message.words) {
                if (word != value) fail("a torn task");
            }
            queue.release(ticket);
            end_operation(value);
        }
    });
    return explore(program, bounds, mutation);
}

TEST(BuilderExplorer, QueueIsSound) {
    for (const QueueScenario& s : queue_scenarios()) {
        expect_nothing_found(run_queue(s, {.preemptions = 3, .stale_reads = 1}),
                             "first ticket " + std::to_string(s.first));
    }
}

// ---------------------------------------------------------------- warps and a failure

constexpr unsigned kWarps = 2;
/// A root, its children and theirs.
constexpr std::uint32_t kNodes = 7;
constexpr std::uint32_t kSlotBits = 7;

/// What the warps share.
struct BuildMemory {
    BuildState state;
    kdtree::TaskSlot<Piece> slots[1U << kSlotBits];
    Piece stacks[kWarps * kdtree::kStackSize];
    Piece pieces[kNodes];
    std::uint64_t list[kNodes + kWarps];
    std::uint32_t arrays[kNodes];  ///< the nodes' references
    std::uint32_t ends[kNodes];    ///< how often a node has been divided or freed

    kdtree::Problem problem() {
        kdtree::Problem p{};
        p.state = &state;
        p.slots = slots;
        p.slot_bits = kSlotBits;
        p.stacks = stacks;
        p.pieces = pieces;
        p.piece_list = list;
        p.warps = kWarps;
        return p;
    }
};
BuildMemory memory;

/// The references of a node, which are never looked at as such.
kdtree::Reference* references_of(std::uint32_t node) {
    return reinterpret_cast<kdtree::Reference*>(&memory.arrays[node]);
}

Piece piece_of(std::uint32_t node, bool decided) {
    Piece piece{};
    piece.node = node;
    piece.references = references_of(node);
    piece.count = 1;  // above the exact limit
    piece.split.axis = decided ? 0 : Split::kUndecided;
    return piece;
}

/// Divides or frees a piece; its children, if there are any, are on the stack then.
void work_on(const Piece& piece, kdtree::WarpTasks<Warp>& tasks) {
    access(piece.references, sizeof(std::uint32_t));
    if (++memory.ends[piece.node] > 1) fail("a node is divided twice");
    if (tasks.failed()) return;
    if (piece.split.axis == Split::kUndecided) fail("a node without a decision is divided");
    const std::uint32_t child = 2 * piece.node + 1;
    if (child >= kNodes) return;
    poke(memory.arrays[child], child);
    poke(memory.arrays[child + 1], child + 1);
    tasks.share_soon();
    for (std::uint32_t side = 0; side < 2; ++side) {
        tasks.push(piece_of(child + side, true));
    }
}

/// A warp's way through the build. It puts these nodes in the list first, as the last warp of the
/// first stage, if there are any.
void work(std::uint32_t warp, const std::vector<std::uint32_t>& enlisted) {
    begin_operation("work", warp);
    const kdtree::Problem problem = memory.problem();
    kdtree::WarpTasks<Warp> tasks(Warp{}, problem, warp);
    for (const std::uint32_t node : enlisted) {
        poke(memory.arrays[node], node);
        tasks.enlist(piece_of(node, true));
    }
    if (!enlisted.empty()) tasks.end_list();
    Piece piece{};
    while (tasks.pop(piece) || tasks.take_listed(piece) || tasks.wait_for(piece)) {
        work_on(piece, tasks);
        tasks.share(1, [](Piece&) { return true; });
    }
    end_operation(0);
}

/// Another warp sees the pool run out.
void run_out() {
    begin_operation("run out", 0);
    memory.state.status.ref().exchange_acq_rel(
        static_cast<std::uint32_t>(kdtree::Status::pool_exhausted));
    end_operation(0);
}

/// When the pool runs out. If that is before the list is whole, its pieces have no decision.
enum class Failure { none, meanwhile, before };

/// These nodes are in the list: when the build begins, or the first warp puts them there meanwhile.
struct BuildScenario {
    Failure failure;
    std::vector<std::uint32_t> list;
    bool meanwhile = false;
};
std::vector<BuildScenario> build_scenarios() {
    return {{Failure::none, {0}},       {Failure::none, {3, 4, 5, 6}},
            {Failure::none, {0}, true}, {Failure::none, {3, 4, 5}, true},
            {Failure::meanwhile, {0}},  {Failure::before, {0}}};
}

Result run_build(const BuildScenario& s, const Bounds& bounds, const Mutation& mutation = {}) {
    Program program;
    for (std::uint32_t warp = 0; warp < kWarps; ++warp) {
        program.threads.emplace_back([warp, &s] {
            work(warp, s.meanwhile && warp == 0 ? s.list : std::vector<std::uint32_t>{});
        });
    }
    if (s.failure == Failure::meanwhile) program.threads.emplace_back(run_out);
    program.begin = [] {
        for (std::uint32_t node = 0; node < kNodes; ++node) {
            memory.ends[node] = memory.arrays[node] = 0;
        }
    };
    program.finish = [&s] {
        if (memory.state.outstanding.ref().load_relaxed() != 0) fail("credits are left");
        for (std::uint32_t node = 0; node < kNodes; ++node) {
            const bool listed = std::find(s.list.begin(), s.list.end(), node) != s.list.end();
            const bool made = listed || (node > 0 && memory.arrays[node] == node);
            if (made && memory.ends[node] != 1 && (listed || s.failure == Failure::none)) {
                fail("a node is lost");
            }
            if (!made && memory.ends[node] != 0) fail("a node comes from nowhere");
        }
    };
    program.shared = [] {
        std::uint64_t hash = 14695981039346656037U;
        const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211U; };
        for (const std::uint32_t ends : memory.ends) add(ends);
        for (unsigned i = 0; i < 8; ++i) {
            add(memory.slots[i].task.node);
            add(memory.slots[i].task.split.axis);
        }
        return hash;
    };
    memory = {};
    if (s.meanwhile) {
        memory.state.outstanding.value = 1;
        return explore(program, bounds, mutation);
    }
    using List = kdtree::WorkList<Warp>;
    const auto listed = static_cast<std::uint32_t>(std::min<std::size_t>(s.list.size(), kNodes));
    memory.state.outstanding.value = memory.state.pieces.tail.value = listed;
    for (std::uint32_t i = 0; i < listed; ++i) {
        memory.pieces[i] = piece_of(s.list[i], s.failure != Failure::before);
        memory.list[i] = List::kNothing + 1 + i;
    }
    for (std::uint32_t i = 0; i < kWarps; ++i) memory.list[listed + i] = List::kEnds + i;
    if (s.failure == Failure::before) {
        memory.state.status.value = static_cast<std::uint32_t>(kdtree::Status::pool_exhausted);
    }
    return explore(program, bounds, mutation);
}

TEST(BuilderExplorer, EveryNodeIsDividedOnceAndTheBuildEnds) {
    for (const BuildScenario& s : build_scenarios()) {
        expect_nothing_found(run_build(s, {.preemptions = 2, .stale_reads = 1, .steps = 2000}),
                             "failure " + std::to_string(static_cast<int>(s.failure)) + ", " +
                                 std::to_string(s.list.size()) + " in the list");
    }
}

/// Breaks every source line of the barrier, the queue and the warps' tasks in every way that
/// applies to it, one at a time. The order of what the last warp does with the credits and the word
/// that says "done" matters to nobody: who reads it only ends. (Without `if (failed_) return` in
/// share() the failing build finds that a node without a decision is divided.)
TEST(BuilderExplorer, FindsFaults) {
    Places places;
    const Bounds few{.preemptions = 1, .stale_reads = 0, .steps = 2000};
    for (const QueueScenario& s : queue_scenarios()) {
        add_places(places, run_queue(s, few), {"task_queue.cuh"});
    }
    for (const BuildScenario& s : build_scenarios()) {
        add_places(places, run_build(s, few), {"task_queue.cuh", "warp_tasks.cuh"});
    }
    add_places(places, run_barrier(few), {"grid_barrier.cuh"});
    auto found = break_each(places, [](const Mutation& m) {
        const Bounds bounds{.preemptions = 2, .stale_reads = 1, .steps = 2000};
        for (const QueueScenario& s : queue_scenarios()) {
            const Result r = run_queue(s, bounds, m);
            if (r.found()) return "the queue: " + r.finding;
        }
        for (const BuildScenario& s : build_scenarios()) {
            const Result r = run_build(s, bounds, m);
            if (r.found()) return "a build: " + r.finding;
        }
        const Result r = run_barrier(bounds, m);
        if (r.found()) return "the barrier: " + r.finding;
        return std::string();
    });
    EXPECT_EQ(found[Fault::no_acquire], 4U);
    EXPECT_EQ(found[Fault::no_release], 4U);
    EXPECT_EQ(found[Fault::torn], 3U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::builder_scenarios
