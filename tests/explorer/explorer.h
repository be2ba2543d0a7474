/// @file
/// A small stateless model checker: runs a few threads in every order of their atomic operations,
/// and for every load with every value that C++ lets it return (memory.h).
///
/// Threads are fibers. Before each atomic operation a choice is made which thread takes the next
/// step, and a load chooses among the messages it may read. An execution is the list of its
/// choices; the explorer runs them all, depth first, each from the start. It abandons an execution
/// that comes to a state from which it has been on before. A state is the memory with its history
/// and the threads' views, and for each thread all that it has read in its present operation and
/// what its former ones returned: so a program must be deterministic, and keep nothing else of what
/// it read from one operation to the next. States are compared by 64-bit hashes; of ten million,
/// two meet by accident with a probability of 3e-6.
///
/// Threads may be lanes of a warp: where two of them come to the same construction of Lanes, they
/// form a group or do not, which is a choice as well.
///
/// Without bounds the exploration is exhaustive. Loops that read the same over and over need two:
/// a load may return old values only so often within an operation, for in the end every store
/// becomes visible; and a thread that backs off does not go on until another has made a step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/site.h"

namespace heapwood::tests::explorer {

enum class Order : std::uint8_t { relaxed, acquire, release, acq_rel };

// What the instrumented AtomicRef does, and access() and poke() below. Outside of an exploration,
// plain memory accesses.
std::uint64_t atomic_load(const void* object, unsigned size, Order, const Site&);
void atomic_store(void* object, unsigned size, std::uint64_t value, Order, const Site&);
/// The value before is returned, but not used unless it `answers`.
std::uint64_t atomic_update(void* object, unsigned size,
                            std::uint64_t (*change)(std::uint64_t old, std::uint64_t operand),
                            std::uint64_t operand, Order, const Site&, bool answers = true);
bool atomic_compare_swap(void* object, unsigned size, std::uint64_t& expected,
                         std::uint64_t desired, Order success, Order failure, const Site&);

/// What a lane knows of the group that it has formed.
struct Group {
    unsigned rank = 0;
    unsigned partner = 0;  ///< the other member; of a lane alone without meaning
    bool together = false;
};

// What the instrumented Lanes does. Outside of an exploration, every lane is alone.
/// The caller's group: with the other lane of its warp, if that comes to the same place with the
/// same word and key, and either joins or does not, by the explorer's choice; or alone.
Group join_lanes(const void* word, std::uint32_t key, const Site&);
/// What the partner passes; orders no memory.
std::uint64_t exchange_with(unsigned partner, std::uint64_t value);
/// Each of both sees what the other one has done.
void sync_with(unsigned partner, const Site&);

/// What is done wrong, on purpose, at one source line.
enum class Fault {
    none,
    no_acquire,  ///< its acquire is relaxed; a group's sync orders nothing
    no_release,  ///< its release is relaxed
    torn,        ///< its read-modify-write is a load and a store, between which others may come
    lost,        ///< what it writes is not written
    /// No fault: its relaxed write, which gives no answer, comes later, as C++ and GPUs allow:
    /// before the thread's next release, its next operation on the object, or the operation's end.
    late,
};

struct Mutation {
    Fault fault = Fault::none;
    std::string file;  ///< base name
    unsigned line = 0;
};

/// An atomic operation of the sources that an exploration came by.
struct Place {
    std::string file;  ///< base name
    unsigned line;
    std::string operation;  ///< for people, as "compare-and-swap"
    bool acquires, releases, loads, stores;
    bool answers;  ///< it loads, and what it has loaded is returned
};

/// What to explore. Functions are called many times; they must hold nothing on their stacks that
/// needs a destructor, for executions are abandoned halfway.
struct Program {
    std::vector<std::function<void()>> threads;
    /// The warp that each thread is a lane of, of at most two; if not given, its own.
    std::vector<unsigned> warps = {};
    /// Before each execution: forgets the former one. Does nothing atomic.
    std::function<void()> begin = [] {};
    /// After the threads have ended, with all they know.
    std::function<void()> finish = [] {};
    /// A hash of what `threads` share beside atomics, for the sake of checks.
    std::function<std::uint64_t()> shared = [] { return std::uint64_t{0}; };
    /// For people: an address, "" if it is unknown; and a value.
    std::function<std::string(std::uintptr_t)> name = [](std::uintptr_t) { return std::string(); };
    std::function<std::string(std::uintptr_t, std::uint64_t)> show;
};

struct Bounds {
    static constexpr unsigned kAll = 0xffffffffU;

    /// How often a thread that could go on may be interrupted, in an execution.
    unsigned preemptions = kAll;
    /// How often a thread may read an old value, in an operation.
    unsigned stale_reads = 2;
    /// A thread that needs more steps for an operation is said to hang.
    unsigned steps = 500;
    /// The exploration is given up after this many executions.
    std::uint64_t executions = 1'000'000'000;
    /// Whether ordinary and atomic accesses to the same bytes must be ordered. Only specimens,
    /// whose accesses are not, are explored without: to see what comes of it.
    bool races = true;
    /// Whether executions that meet go on as one; only the explorer's own test says no.
    bool merge = true;
};

struct Result {
    std::uint64_t executions = 0;
    std::uint64_t states = 0;
    bool complete = false;  ///< all there is within the bounds was explored
    std::string finding;    ///< what is wrong; "" if nothing is
    std::string schedule;   ///< of the finding, a line per step
    std::vector<Place> places;

    bool found() const { return !finding.empty(); }
};

/// Explores `program` until something wrong is found.
Result explore(const Program& program, const Bounds& bounds = {}, const Mutation& mutation = {});

// For programs, during an exploration.

/// The calling thread's number; the number of threads in `finish`.
unsigned thread();
/// The number of its warp.
unsigned warp();
/// Says what the atomic operations that follow are for, as "allocate(16)"; `text` must last.
void begin_operation(const char* text, std::uint64_t argument);
/// @param result whatever the thread goes on with
/// @return whether the operation had the machine to itself: no other thread was in one of its own
/// meanwhile, and no value read was old.
bool end_operation(std::uint64_t result);
/// The thread uses these bytes, which must be its own.
void access(const void* p, std::uint64_t bytes);
/// Writes a word of such bytes.
void poke(std::uint32_t& word, std::uint32_t value);
/// The calling thread backs off: another one makes the next step, if there is one that can.
void yield();
/// Reports a finding; does not return.
[[noreturn]] void fail(const std::string& what);

/// While it lives, atomic operations are plain accesses to the newest values, and not steps.
class Aside {
public:
    Aside();
    ~Aside();
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
};

}  // namespace heapwood::tests::explorer
