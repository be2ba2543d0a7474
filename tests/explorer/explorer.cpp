/// @file
/// The explorer: fibers, choices, and the search.
#include "tests/explorer/explorer.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include "tests/explorer/memory.h"

namespace heapwood::tests::explorer {

namespace {

/// Leaves `finish` after a finding.
struct Abandoned {};

std::string base_name(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

bool acquires(Order o) {
    return o == Order::acquire || o == Order::acq_rel;
}
bool releases(Order o) {
    return o == Order::release || o == Order::acq_rel;
}

/// Whether there is memory at all. A program that has been broken may ask for any address.
bool is_mapped(std::uintptr_t address) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    unsigned char present = 0;
    return mincore(reinterpret_cast<void*>(address / page * page), 1, &present) == 0;
}

/// A step, to be printed.
struct Step {
    unsigned thread;
    const char* operation;  ///< nullptr: no step, but the begin of `text`, or its end
    const char* text;
    std::uintptr_t address;
    std::uint64_t before, after;
    unsigned age;
    Order order;
    Site site;
};

class Explorer {
public:
    Explorer(const Program& program, const Bounds& bounds, const Mutation& mutation)
        : program_(program), bounds_(bounds), mutation_(mutation), fibers_(threads() + 1) {
        for (Fiber& f : fibers_) f.stack = std::make_unique<std::byte[]>(kStack);
    }

    Result run();

    void enter_aside() { ++aside_; }
    void leave_aside() { --aside_; }
    bool is_aside() const { return aside_ > 0; }

    std::uint64_t load(std::uintptr_t address, unsigned size, Order order, const Site& site);
    void store(std::uintptr_t address, unsigned size, std::uint64_t value, Order order,
               const Site& site);
    std::uint64_t update(std::uintptr_t address, unsigned size,
                         std::uint64_t (*change)(std::uint64_t, std::uint64_t),
                         std::uint64_t operand, Order order, const Site& site);
    bool compare_swap(std::uintptr_t address, unsigned size, std::uint64_t& expected,
                      std::uint64_t desired, Order success, Order failure, const Site& site);

    unsigned running() const { return running_; }
    void begin_operation(const char* text, std::uint64_t argument);
    bool end_operation(std::uint64_t result);
    void yield() { me().yields = true; }
    void access(std::uintptr_t address, std::uint64_t bytes);
    void poke(std::uint32_t& word, std::uint32_t value) {
        memory_.poke(reinterpret_cast<std::uintptr_t>(&word), &value, sizeof(value));
    }
    [[noreturn]] void fail(const std::string& what);

private:
    static constexpr std::size_t kStack = 1 << 16;

    /// A thread; the last one is `finish`, which runs in the explorer's own context.
    struct Fiber {
        ucontext_t context;
        std::unique_ptr<std::byte[]> stack;
        bool ended;
        bool yields;            ///< since the last step of another
        std::uint64_t past;     ///< hash of what its operations returned
        std::uint64_t present;  ///< and of what it has read in this one
        unsigned steps;         ///< in this operation, as the next three
        unsigned stale_reads;
        bool inside;
        bool alone;
    };

    struct Choice {
        unsigned taken;
        unsigned count;
    };

    unsigned threads() const { return static_cast<unsigned>(program_.threads.size()); }
    Fiber& me() { return fibers_[running_]; }

    bool execute();
    bool next_execution();
    static void enter(unsigned high, unsigned low);
    void body();
    unsigned choose(unsigned count);
    void step_boundary();
    unsigned pick_thread();
    std::uint64_t state() const;
    void switch_to(unsigned next);
    [[noreturn]] void abandon();

    unsigned begin_step(std::uintptr_t address, unsigned size);
    Order mutated(Order order, const Site& site) const;
    bool is_mutated(Fault fault, const Site& site) const;
    void note(const char* operation, std::uintptr_t address, std::uint64_t before,
              std::uint64_t after, unsigned age, Order order, const Site& site, bool loads,
              bool stores);
    std::string print_schedule() const;

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
    bool tracing_ = false;
    std::vector<Choice> choices_;
    std::size_t position_ = 0;
    std::unordered_set<std::uint64_t> seen_;
    std::map<std::pair<std::string, unsigned>, Place> places_;
    std::map<std::pair<const char*, unsigned>, bool> noted_;
    std::vector<Step> steps_;
    Result result_;
};

Explorer* current = nullptr;

// --- the search

Result Explorer::run() {
    do {
        ++result_.executions;
        if (!execute()) {
            const std::string finding = result_.finding;
            tracing_ = true;
            execute();
            result_.finding = finding;
            result_.schedule = print_schedule();
            break;
        }
        if (!next_execution()) {
            result_.complete = true;
            break;
        }
    } while (result_.executions < bounds_.executions);
    result_.states = seen_.size();
    for (auto& [key, place] : places_) result_.places.push_back(place);
    return std::move(result_);
}

/// Runs the program once, along the choices so far and then along the first ones.
/// @return false if there is a finding.
bool Explorer::execute() {
    position_ = 0;
    preemptions_ = 0;
    pruned_ = false;
    result_.finding.clear();
    steps_.clear();
    program_.begin();
    memory_.begin(threads() + 1);
    for (Fiber& f : fibers_) {
        f.ended = f.yields = false;
        f.past = f.present = 0;
        f.steps = f.stale_reads = 0;
        f.inside = false;
        f.alone = true;
    }
    // Every thread up to its first atomic operation.
    priming_ = true;
    for (running_ = 0; running_ < threads(); ++running_) {
        Fiber& f = fibers_[running_];
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.get();
        f.context.uc_stack.ss_size = kStack;
        f.context.uc_link = nullptr;
        // makecontext passes ints only.
        const auto self = reinterpret_cast<std::uintptr_t>(this);
        makecontext(&f.context, reinterpret_cast<void (*)()>(&Explorer::enter), 2,
                    static_cast<unsigned>(std::uint64_t{self} >> 32), static_cast<unsigned>(self));
        swapcontext(&own_context_, &f.context);
    }
    priming_ = false;
    running_ = threads();
    if (result_.finding.empty()) {
        const unsigned first = pick_thread();
        if (first < threads() && !pruned_) {
            running_ = first;
            swapcontext(&own_context_, &fibers_[first].context);
        }
    }
    running_ = threads();
    if (!pruned_ && result_.finding.empty()) {
        memory_.join_all(threads());
        try {
            program_.finish();
        } catch (const Abandoned&) {
        }
    }
    memory_.end();
    return result_.finding.empty();
}

/// Moves on to the next list of choices. @return false if there is none.
bool Explorer::next_execution() {
    while (!choices_.empty() && choices_.back().taken + 1 >= choices_.back().count) {
        choices_.pop_back();
    }
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
}

unsigned Explorer::choose(unsigned count) {
    if (position_ == choices_.size()) choices_.push_back({0, count});
    Choice& c = choices_[position_++];
    // May have grown: an atomic object that is found late has a history from the next time on.
    c.count = count;
    if (c.taken >= count) fail("no finding: the program is not deterministic");
    return c.taken;
}

/// Chooses who makes the next step, the calling thread first. @return threads() if all have ended,
/// or if the execution need not go on, which sets pruned_.
unsigned Explorer::pick_thread() {
    std::array<unsigned, 32> able{};
    unsigned count = 0;
    const bool may_go_on = running_ < threads() && !me().ended && !me().yields;
    if (may_go_on) able[count++] = running_;
    if (!may_go_on || preemptions_ < bounds_.preemptions) {
        for (unsigned t = 0; t < threads(); ++t) {
            if (t != running_ && !fibers_[t].ended && !fibers_[t].yields) able[count++] = t;
        }
    }
    if (count == 0) {
        for (unsigned t = 0; t < threads(); ++t) {
            if (!fibers_[t].ended) able[count++] = t;
        }
    }
    const bool news = position_ == choices_.size() && !tracing_;
    if (news && bounds_.merge && !seen_.insert(state()).second) {
        pruned_ = true;
        return threads();
    }
    if (count == 0) return threads();
    const unsigned next = able[choose(count)];
    if (may_go_on && next != running_) ++preemptions_;
    return next;
}

std::uint64_t Explorer::state() const {
    std::uint32_t live = 0;
    for (unsigned t = 0; t < threads(); ++t) {
        if (!fibers_[t].ended) live |= 1U << t;
    }
    std::uint64_t h = mix(memory_.hash(live), program_.shared());
    for (unsigned t = 0; t < threads(); ++t) {
        const Fiber& f = fibers_[t];
        h = mix(h, f.past);
        if (f.ended) continue;
        h = mix(h, f.present);
        h = mix(h, std::uint64_t{f.steps} << 32 | f.stale_reads << 3 | (f.yields ? 4U : 0U) |
                       (f.inside ? 2U : 0U) | (f.alone ? 1U : 0U));
    }
    if (bounds_.preemptions != Bounds::kAll) {
        h = mix(h, std::uint64_t{preemptions_} << 32 | running_);
    }
    return h;
}

// --- fibers

void Explorer::enter(unsigned high, unsigned low) {
    const auto self = static_cast<std::uintptr_t>(std::uint64_t{high} << 32 | low);
    reinterpret_cast<Explorer*>(self)->body();
}

void Explorer::body() {
    try {
        program_.threads[running_]();
    } catch (const std::exception& e) {
        fail(e.what());
    }
    me().ended = true;
    for (Fiber& f : fibers_) f.yields = false;
    if (priming_) abandon();
    const unsigned next = pick_thread();
    if (next == threads()) abandon();
    switch_to(next);
    abandon();
}

void Explorer::switch_to(unsigned next) {
    Fiber& from = me();
    running_ = next;
    swapcontext(&from.context, &fibers_[next].context);
}

/// Leaves the calling fiber for good.
void Explorer::abandon() {
    setcontext(&own_context_);
    std::abort();
}

/// Before an atomic operation: lets others come first.
void Explorer::step_boundary() {
    if (running_ == threads()) return;
    if (priming_) {
        swapcontext(&me().context, &own_context_);
        return;
    }
    const unsigned next = pick_thread();
    if (next == threads()) abandon();
    if (next != running_) switch_to(next);
}

void Explorer::fail(const std::string& what) {
    result_.finding = what;
    if (running_ == threads()) throw Abandoned{};
    abandon();
}

// --- steps

/// @return the number of the atomic object.
unsigned Explorer::begin_step(std::uintptr_t address, unsigned size) {
    step_boundary();
    Fiber& f = me();
    if (!f.inside) {
        f.inside = true;
        f.alone = true;
    }
    for (unsigned t = 0; t < threads(); ++t) {
        if (t == running_) continue;
        fibers_[t].yields = false;
        if (!fibers_[t].inside) continue;
        fibers_[t].alone = false;
        f.alone = false;
    }
    if (++f.steps > bounds_.steps) fail("an operation does not end");
    if (!memory_.knows(address) && !is_mapped(address)) fail("there is no memory at an address");
    return memory_.atomic(address, size);
}

bool Explorer::is_mutated(Fault fault, const Site& site) const {
    return mutation_.fault == fault && mutation_.line == site.line() &&
           mutation_.file == base_name(site.file_name());
}

Order Explorer::mutated(Order order, const Site& site) const {
    if (mutation_.fault == Fault::none) return order;
    if (acquires(order) && is_mutated(Fault::no_acquire, site)) {
        return releases(order) ? Order::release : Order::relaxed;
    }
    if (releases(order) && is_mutated(Fault::no_release, site)) {
        return acquires(order) ? Order::acquire : Order::relaxed;
    }
    return order;
}

std::uint64_t Explorer::load(std::uintptr_t address, unsigned size, Order order, const Site& site) {
    const unsigned object = begin_step(address, size);
    Fiber& f = me();
    if (bounds_.races && !memory_.ordered(running_, object)) {
        note("load", address, 0, 0, 0, order, site, true, false);
        fail("data race: an atomic load of bytes that are somebody's payload");
    }
    unsigned count = f.stale_reads < bounds_.stale_reads ? memory_.readable(running_, object) : 1;
    const unsigned age = running_ == threads() ? 0 : choose(count);
    if (age > 0) ++f.stale_reads;
    const std::uint64_t value = memory_.value(object, age);
    memory_.read(running_, object, age, acquires(mutated(order, site)));
    f.present = mix(f.present, value);
    note("load", address, value, value, age, order, site, true, false);
    return value;
}

void Explorer::store(std::uintptr_t address, unsigned size, std::uint64_t value, Order order,
                     const Site& site) {
    const unsigned object = begin_step(address, size);
    if (bounds_.races && !memory_.ordered(running_, object)) {
        note("store", address, 0, value, 0, order, site, false, true);
        fail("data race: an atomic store to bytes that are somebody's payload");
    }
    const std::uint64_t before = memory_.value(object, 0);
    if (!is_mutated(Fault::lost, site)) {
        memory_.write(running_, object, value, releases(mutated(order, site)), false);
    }
    note("store", address, before, value, 0, order, site, false, true);
}

std::uint64_t Explorer::update(std::uintptr_t address, unsigned size,
                               std::uint64_t (*change)(std::uint64_t, std::uint64_t),
                               std::uint64_t operand, Order order, const Site& site) {
    unsigned object = begin_step(address, size);
    Fiber& f = me();
    if (bounds_.races && !memory_.ordered(running_, object)) {
        note("update", address, 0, operand, 0, order, site, true, true);
        fail("data race: an atomic update of bytes that are somebody's payload");
    }
    const std::uint64_t before = memory_.value(object, 0);
    const Order actual = mutated(order, site);
    memory_.read(running_, object, 0, acquires(actual));
    f.present = mix(f.present, before);
    const bool torn = is_mutated(Fault::torn, site);
    if (torn) object = begin_step(address, size);
    const std::uint64_t after = is_mutated(Fault::lost, site) ? before : change(before, operand);
    memory_.write(running_, object, after, releases(actual), !torn);
    note("update", address, before, after, 0, order, site, true, true);
    return before;
}

bool Explorer::compare_swap(std::uintptr_t address, unsigned size, std::uint64_t& expected,
                            std::uint64_t desired, Order success, Order failure, const Site& site) {
    unsigned object = begin_step(address, size);
    Fiber& f = me();
    if (bounds_.races && !memory_.ordered(running_, object)) {
        note("compare-and-swap", address, expected, desired, 0, success, site, true, true);
        fail("data race: a compare-and-swap on bytes that are somebody's payload");
    }
    // Fails on any value that a load may return but the expected one, and succeeds on the newest.
    std::array<unsigned, 256> ages;
    unsigned count = 0;
    ages[count++] = 0;
    if (f.stale_reads < bounds_.stale_reads && running_ < threads()) {
        for (unsigned age = 1; age < memory_.readable(running_, object); ++age) {
            if (memory_.value(object, age) != expected) ages[count++] = age;
        }
    }
    const unsigned age = ages[running_ == threads() ? 0 : choose(count)];
    if (age > 0) ++f.stale_reads;
    const std::uint64_t found = memory_.value(object, age);
    const bool swaps = found == expected;
    f.present = mix(f.present, mix(found, swaps ? 1 : 0));
    const Order actual = mutated(swaps ? success : failure, site);
    memory_.read(running_, object, age, acquires(actual));
    if (swaps) {
        const bool torn = is_mutated(Fault::torn, site);
        if (torn) object = begin_step(address, size);
        memory_.write(running_, object, is_mutated(Fault::lost, site) ? found : desired,
                      releases(actual), !torn);
    }
    note(swaps ? "compare-and-swap" : "compare-and-swap (fails)", address, found,
         swaps ? desired : found, age, success, site, true, true);
    expected = found;
    return swaps;
}

// --- what programs say

void Explorer::begin_operation(const char* text, std::uint64_t argument) {
    Fiber& f = me();
    f.steps = f.stale_reads = 0;
    f.present = 0;
    f.inside = false;
    f.alone = true;
    if (tracing_) steps_.push_back({running_, nullptr, text, 0, argument, 0, 0, {}, {}});
}

bool Explorer::end_operation(std::uint64_t result) {
    Fiber& f = me();
    const bool alone = f.alone && f.stale_reads == 0;
    f.past = mix(f.past, result + 1);
    f.present = 0;
    f.steps = f.stale_reads = 0;
    f.inside = false;
    f.alone = true;
    if (tracing_) steps_.push_back({running_, nullptr, nullptr, result, 0, 0, 0, {}, {}});
    return alone;
}

void Explorer::access(std::uintptr_t address, std::uint64_t bytes) {
    if (!memory_.access(running_, address, bytes) && bounds_.races) {
        fail("data race: a payload is used without having seen all that was done with it before");
    }
}

// --- for people

void Explorer::note(const char* operation, std::uintptr_t address, std::uint64_t before,
                    std::uint64_t after, unsigned age, Order order, const Site& site, bool loads,
                    bool stores) {
    bool& known = noted_[{site.file_name(), site.line()}];
    if (!known) {
        known = true;
        const std::string file = base_name(site.file_name());
        places_.try_emplace(
            {file, site.line()},
            Place{file, site.line(), operation, acquires(order), releases(order), loads, stores});
    }
    if (tracing_) {
        steps_.push_back({running_, operation, nullptr, address, before, after, age, order, site});
    }
}

std::string Explorer::print_schedule() const {
    static const char* const kOrders[] = {"relaxed", "acquire", "release", "acq_rel"};
    std::string text;
    std::map<std::uintptr_t, char> blocks;
    const auto name = [&](std::uintptr_t address) {
        std::string known = program_.name(address);
        if (!known.empty()) return known;
        // A Buffer starts at a multiple of 256 bytes.
        const auto letter = static_cast<char>('A' + blocks.size() % 26);
        std::string place(1, blocks.try_emplace(address / 256, letter).first->second);
        return place.append("[").append(std::to_string(address % 256 / 4)).append("]");
    };
    const auto show = [&](std::uintptr_t address, std::uint64_t value) {
        if (program_.show) return program_.show(address, value);
        char digits[32];
        std::snprintf(digits, sizeof(digits), "%#llx", static_cast<unsigned long long>(value));
        return std::string(digits);
    };
    for (const Step& s : steps_) {
        text += s.thread == threads() ? "  end" : "  T" + std::to_string(s.thread);
        if (s.operation == nullptr) {
            text += s.text != nullptr ? ": " + std::string(s.text) + " " + std::to_string(s.before)
                                      : ":   -> " + name(s.address);
        } else {
            text += "    " + std::string(s.operation) + " " + name(s.address) + " " +
                    show(s.address, s.before);
            if (s.after != s.before) text += " => " + show(s.address, s.after);
            if (s.age > 0) text += " (" + std::to_string(s.age) + " old)";
            text += "  " + std::string(kOrders[static_cast<unsigned>(s.order)]) + ", " +
                    base_name(s.site.file_name()) + ":" + std::to_string(s.site.line());
        }
        text += "\n";
    }
    return text;
}

bool plainly() {
    return current == nullptr || current->is_aside();
}

std::uintptr_t address_of(const void* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

}  // namespace

Result explore(const Program& program, const Bounds& bounds, const Mutation& mutation) {
    Explorer explorer(program, bounds, mutation);
    current = &explorer;
    Result result = explorer.run();
    current = nullptr;
    return result;
}

std::uint64_t atomic_load(const void* object, unsigned size, Order order, const Site& site) {
    if (plainly()) return Memory::peek(address_of(object), size);
    return current->load(address_of(object), size, order, site);
}

void atomic_store(void* object, unsigned size, std::uint64_t value, Order order, const Site& site) {
    if (plainly()) {
        std::memcpy(object, &value, size);
    } else {
        current->store(address_of(object), size, value, order, site);
    }
}

std::uint64_t atomic_update(void* object, unsigned size,
                            std::uint64_t (*change)(std::uint64_t, std::uint64_t),
                            std::uint64_t operand, Order order, const Site& site) {
    if (!plainly()) {
        return current->update(address_of(object), size, change, operand, order, site);
    }
    const std::uint64_t before = Memory::peek(address_of(object), size);
    const std::uint64_t after = change(before, operand);
    std::memcpy(object, &after, size);
    return before;
}

bool atomic_compare_swap(void* object, unsigned size, std::uint64_t& expected,
                         std::uint64_t desired, Order success, Order failure, const Site& site) {
    if (!plainly()) {
        return current->compare_swap(address_of(object), size, expected, desired, success, failure,
                                     site);
    }
    const std::uint64_t found = Memory::peek(address_of(object), size);
    const bool swaps = found == expected;
    if (swaps) std::memcpy(object, &desired, size);
    expected = found;
    return swaps;
}

unsigned thread() {
    return current->running();
}
void begin_operation(const char* text, std::uint64_t argument) {
    current->begin_operation(text, argument);
}
bool end_operation(std::uint64_t result) {
    return current->end_operation(result);
}
void access(const void* p, std::uint64_t bytes) {
    if (!plainly()) current->access(address_of(p), bytes);
}
void poke(std::uint32_t& word, std::uint32_t value) {
    if (plainly()) {
        word = value;
    } else {
        current->poke(word, value);
    }
}
void yield() {
    if (!plainly()) current->yield();
}
void fail(const std::string& what) {
    current->fail(what);
}

Aside::Aside() {
    current->enter_aside();
}
Aside::~Aside() {
    current->leave_aside();
}

}  // namespace heapwood::tests::explorer
