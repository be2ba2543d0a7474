/// @file
/// What a program's threads do in an exploration: atomic operations, and what they say of them.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "tests/explorer/search.h"

namespace heapwood::tests::explorer {
namespace {

/// Whether there is memory at all. A program that has been broken may ask for any address.
bool is_mapped(std::uintptr_t address) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    unsigned char present = 0;
    return mincore(reinterpret_cast<void*>(address / page * page), 1, &present) == 0;
}

}  // namespace

void Explorer::begin_action() {
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
}

/// @return the number of the atomic object.
unsigned Explorer::begin_step(std::uintptr_t address, unsigned size, Order order) {
    begin_action();
    if (!memory_.knows(address) && !is_mapped(address)) fail("there is no memory at an address");
    const unsigned object = memory_.atomic(address, size);
    if (releases(order) || me().late.object == object) write_late();
    return object;
}

/// What comes late comes now.
void Explorer::write_late() {
    const LateWrite late = std::exchange(me().late, {});
    if (late.change == nullptr) return;
    const std::uint64_t before = memory_.value(late.object, 0);
    memory_.read(running_, late.object, 0, false);
    memory_.write(running_, late.object, late.change(before, late.operand), false, true);
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
    const unsigned object = begin_step(address, size, order);
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
    const unsigned object = begin_step(address, size, order);
    if (bounds_.races && !memory_.ordered(running_, object)) {
        note("store", address, 0, value, 0, order, site, false, true);
        fail("data race: an atomic store to bytes that are somebody's payload");
    }
    const std::uint64_t before = memory_.value(object, 0);
    note("store", address, before, value, 0, order, site, false, true);
    if (is_mutated(Fault::late, site)) {
        me().late = {[](std::uint64_t, std::uint64_t v) { return v; }, object, value};
    } else if (!is_mutated(Fault::lost, site)) {
        memory_.write(running_, object, value, releases(mutated(order, site)), false);
    }
}

std::uint64_t Explorer::update(std::uintptr_t address, unsigned size,
                               std::uint64_t (*change)(std::uint64_t, std::uint64_t),
                               std::uint64_t operand, Order order, const Site& site, bool answers) {
    unsigned object = begin_step(address, size, order);
    Fiber& f = me();
    if (bounds_.races && !memory_.ordered(running_, object)) {
        note("update", address, 0, operand, 0, order, site, true, true);
        fail("data race: an atomic update of bytes that are somebody's payload");
    }
    const std::uint64_t before = memory_.value(object, 0);
    if (is_mutated(Fault::late, site)) {
        note("update", address, before, change(before, operand), 0, order, site, true, true,
             answers);
        f.late = {change, object, operand};
        return before;
    }
    const Order actual = mutated(order, site);
    memory_.read(running_, object, 0, acquires(actual));
    f.present = mix(f.present, before);
    const bool torn = is_mutated(Fault::torn, site);
    if (torn) object = begin_step(address, size, order);
    const std::uint64_t after = is_mutated(Fault::lost, site) ? before : change(before, operand);
    memory_.write(running_, object, after, releases(actual), !torn);
    note("update", address, before, after, 0, order, site, true, true, answers);
    return before;
}

bool Explorer::compare_swap(std::uintptr_t address, unsigned size, std::uint64_t& expected,
                            std::uint64_t desired, Order success, Order failure, const Site& site) {
    unsigned object = begin_step(address, size, success);
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
        if (torn) object = begin_step(address, size, success);
        memory_.write(running_, object, is_mutated(Fault::lost, site) ? found : desired,
                      releases(actual), !torn);
    }
    note(swaps ? "compare-and-swap" : "compare-and-swap (fails)", address, found,
         swaps ? desired : found, age, success, site, true, true);
    expected = found;
    return swaps;
}

void Explorer::note(const char* operation, std::uintptr_t address, std::uint64_t before,
                    std::uint64_t after, unsigned age, Order order, const Site& site, bool loads,
                    bool stores, bool answers) {
    record_.note({running_, operation, nullptr, address, before, after, age, order, site}, loads,
                 stores, answers);
}

void Explorer::begin_operation(const char* text, std::uint64_t argument) {
    Fiber& f = me();
    f.steps = f.stale_reads = 0;
    f.present = 0;
    f.inside = false;
    f.alone = true;
    record_.begin_operation(running_, text, argument);
}

bool Explorer::end_operation(std::uint64_t result) {
    write_late();
    Fiber& f = me();
    const bool alone = f.alone && f.stale_reads == 0;
    f.past = mix(f.past, result + 1);
    f.present = 0;
    f.steps = f.stale_reads = 0;
    f.inside = false;
    f.alone = true;
    record_.end_operation(running_, result);
    return alone;
}

void Explorer::access(std::uintptr_t address, std::uint64_t bytes) {
    if (!memory_.access(running_, address, bytes) && bounds_.races) {
        fail("data race: a payload is used without having seen all that was done with it before");
    }
}

}  // namespace heapwood::tests::explorer
