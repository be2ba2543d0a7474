/// @file
/// Lanes of a warp in an exploration: how two of them form a group, and meet in it.
#include "tests/explorer/record.h"
#include "tests/explorer/search.h"

namespace heapwood::tests::explorer {

Group Explorer::join_lanes(std::uintptr_t word, std::uint32_t key, const Site& site) {
    if (program_.warps.empty()) return {};
    begin_action();
    Fiber& f = me();
    f.word = word;
    f.key = key;
    f.place = site;
    f.group = {};
    bool may_come = false;
    for (unsigned t = 0; t < threads(); ++t) {
        Fiber& other = fibers_[t];
        if (t == running_ || other.ended || warp_of(t) != warp()) continue;
        may_come |= other.waits == Waits::not_at_all;
        const bool meets = other.waits == Waits::to_be_joined && other.word == word &&
                           other.key == key && other.place.line() == site.line() &&
                           base_name(other.place.file_name()) == base_name(site.file_name());
        if (!meets || choose(2) == 1) continue;
        put_into_group(t, running_, 0);
        put_into_group(running_, t, 1);
        other.waits = Waits::not_at_all;
        may_come = false;
    }
    if (may_come && choose(2) == 1) wait(Waits::to_be_joined);
    if (!f.group.together) f.present = mix(f.present, 1);
    note(f.group.together ? "group" : "lane", word, key, key, 0, Order::relaxed, site, false,
         false);
    return f.group;
}

void Explorer::put_into_group(unsigned lane, unsigned partner, unsigned rank) {
    Fiber& f = fibers_[lane];
    f.group = {rank, partner, true};
    f.present = mix(f.present, 2 + rank);
}

/// Lets others go on until one of them says that the caller need not wait.
void Explorer::wait(Waits waits) {
    me().waits = waits;
    hand_over();
}

std::uint64_t Explorer::exchange_with(unsigned partner, std::uint64_t value) {
    Fiber& f = me();
    Fiber& other = fibers_[partner];
    f.passes = value;
    if (other.waits != Waits::for_partner) {
        wait(Waits::for_partner);
        return f.received;
    }
    // Both go on, each with what the other one has passed.
    other.waits = Waits::not_at_all;
    other.received = f.passes;
    f.received = other.passes;
    for (Fiber* lane : {&f, &other}) lane->present = mix(lane->present, lane->received);
    return f.received;
}

void Explorer::sync_with(unsigned partner, const Site& site) {
    write_late();
    record_.note({running_, "sync", nullptr, me().word, 0, 0, 0, Order::acquire, site}, false,
                 false, true);
    const bool is_last = fibers_[partner].waits == Waits::for_partner;
    exchange_with(partner, 0);
    if (is_last && !is_mutated(Fault::no_acquire, site)) memory_.join(running_, partner);
}

}  // namespace heapwood::tests::explorer
