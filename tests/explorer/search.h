/// @file
/// The explorer's search: threads as fibers, and a choice before each step.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/explorer/explorer.h"
#include "tests/explorer/memory.h"
#include "tests/explorer/record.h"

namespace heapwood::tests::explorer {

/// Explores a program, which it refers to. Its functions but run() are for the program while it
/// runs.
class Explorer {
public:
    Explorer(const Program& program, const Bounds& bounds, const Mutation& mutation);

    Result run();

    void enter_aside() { ++aside_; }
    void leave_aside() { --aside_; }
    bool is_aside() const { return aside_ > 0; }

    std::uint64_t load(std::uintptr_t address, unsigned size, Order order, const Site& site);
    void store(std::uintptr_t address, unsigned size, std::uint64_t value, Order order,
               const Site& site);
    std::uint64_t update(std::uintptr_t address, unsigned size,
                         std::uint64_t (*change)(std::uint64_t, std::uint64_t),
                         std::uint64_t operand, Order order, const Site& site, bool answers);
    bool compare_swap(std::uintptr_t address, unsigned size, std::uint64_t& expected,
                      std::uint64_t desired, Order success, Order failure, const Site& site);

    Group join_lanes(std::uintptr_t word, std::uint32_t key, const Site& site);
    std::uint64_t exchange_with(unsigned partner, std::uint64_t value);
    void sync_with(unsigned partner, const Site& site);

    unsigned running() const { return running_; }
    unsigned warp() const { return warp_of(running_); }
    void begin_operation(const char* text, std::uint64_t argument);
    bool end_operation(std::uint64_t result);
    void yield() {
        write_late();
        me().yields = true;
    }
    void access(std::uintptr_t address, std::uint64_t bytes);
    void poke(std::uint32_t& word, std::uint32_t value) {
        memory_.poke(reinterpret_cast<std::uintptr_t>(&word), &value, sizeof(value));
    }
    [[noreturn]] void fail(const std::string& what);

private:
    static constexpr std::size_t kStack = 1 << 16;

    /// A write that is still to come (Fault::late).
    struct LateWrite {
        std::uint64_t (*change)(std::uint64_t,
                                std::uint64_t) = nullptr;  ///< nullptr: there is none
        unsigned object = 0;
        std::uint64_t operand = 0;
    };

    /// What a lane waits for.
    enum class Waits : std::uint8_t { not_at_all, to_be_joined, for_partner };

    /// A thread; the last one is `finish`, which runs in the explorer's own context.
    struct Fiber {
        ucontext_t context;
        std::unique_ptr<std::byte[]> stack;
        bool ended;
        bool yields;  ///< since the last step of another
        Waits waits;
        std::uintptr_t word;  ///< at which it has come to the construction of a group
        std::uint32_t key;
        Site place;
        Group group;             ///< that it was in last
        std::uint64_t passes;    ///< to its partner
        std::uint64_t received;  ///< from its partner
        std::uint64_t past;      ///< hash of what its operations returned
        std::uint64_t present;   ///< and of what it has read in this one
        unsigned steps;          ///< in this operation, as the next three
        unsigned stale_reads;
        bool inside;
        bool alone;
        LateWrite late;
    };

    struct Choice {
        unsigned taken;
        unsigned count;
    };

    unsigned threads() const { return static_cast<unsigned>(program_.threads.size()); }
    Fiber& me() { return fibers_[running_]; }
    unsigned warp_of(unsigned t) const { return t < program_.warps.size() ? program_.warps[t] : t; }
    bool is_able(unsigned t) const {
        return !fibers_[t].ended && fibers_[t].waits == Waits::not_at_all;
    }

    bool execute();
    bool next_execution();
    static void enter(unsigned high, unsigned low);
    void body();
    unsigned choose(unsigned count);
    void step_boundary();
    unsigned pick_thread();
    std::uint64_t state() const;
    bool is_stuck();
    void switch_to(unsigned next);
    void hand_over();
    [[noreturn]] void abandon();

    void begin_action();
    unsigned begin_step(std::uintptr_t address, unsigned size, Order order);
    void write_late();
    void put_into_group(unsigned lane, unsigned partner, unsigned rank);
    void wait(Waits waits);
    Order mutated(Order order, const Site& site) const;
    bool is_mutated(Fault fault, const Site& site) const;
    void note(const char* operation, std::uintptr_t address, std::uint64_t before,
              std::uint64_t after, unsigned age, Order order, const Site& site, bool loads,
              bool stores, bool answers = true);

    const Program& program_;
    const Bounds& bounds_;
    const Mutation& mutation_;
    Memory memory_;
    std::vector<Fiber> fibers_;
    ucontext_t own_context_;
    unsigned running_ = 0;
    unsigned preemptions_ = 0;
    unsigned aside_ = 0;
    bool priming_ = false;
    bool pruned_ = false;
    std::vector<Choice> choices_;
    std::size_t position_ = 0;
    std::unordered_set<std::uint64_t> seen_;
    Record record_;
    Result result_;
};

}  // namespace heapwood::tests::explorer
