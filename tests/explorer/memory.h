/// @file
/// The explorer's model of C++ memory: relaxed, acquire and release by views.
///
/// Every location keeps the history of its values (messages, oldest first); a message's place in it
/// is its stamp. Every thread has a view: for each location the oldest message that it may still
/// read. Whatever it reads or writes moves its view of that location forward. A release attaches
/// the writer's view to the message, an acquire takes over the view of the message read. A
/// read-modify-write reads the newest message and hands on that message's view with its own, which
/// is a release sequence.
///
/// Ordinary accesses, to payloads, are exclusive: whoever makes one must have seen every access
/// to these bytes before it, else there is a data race.
///
/// What C++ allows and this model does not: a load that returns what is stored later in some
/// order of the program (load buffering), and a store that falls behind a newer one of another
/// thread in the location's order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace heapwood::tests::explorer {

/// Mixes v into the hash h.
inline std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
    h = (std::rotl(h, 23) ^ (v + 0x632be59bd9b4e019U)) * 0x9e3779b97f4a7c15U;
    return h ^ (h >> 32);
}

/// A message's place in its location's history.
using Stamp = std::uint8_t;

/// Of every location, the oldest message that may still be read.
struct View {
    /// As many locations as there may be.
    static constexpr unsigned kLocations = 512;
    /// As many locations as there are by now, or a few more: a multiple of 16.
    static inline unsigned used = 0;

    alignas(16) std::array<Stamp, kLocations> at{};

    void join(const View& other) {
        for (unsigned i = 0; i < used; ++i) at[i] = std::max(at[i], other.at[i]);
    }
    void meet(const View& other) {
        for (unsigned i = 0; i < used; ++i) at[i] = std::min(at[i], other.at[i]);
    }
    /// A hash of what is in this view beyond `base`.
    std::uint64_t hash(const View& base) const {
        std::array<Stamp, kLocations> beyond;
        for (unsigned i = 0; i < used; ++i) {
            beyond[i] = static_cast<Stamp>(std::max(at[i], base.at[i]) - base.at[i]);
        }
        std::uint64_t h = 0;
        for (unsigned i = 0; i < used; i += 8) {
            std::uint64_t eight;
            std::memcpy(&eight, &beyond[i], 8);
            // As if there were no more locations than those that are beyond.
            if (eight != 0) h = mix(mix(h, i), eight);
        }
        return h;
    }
};

/// A value that a location had, or has.
struct Message {
    std::uint64_t value;
    View view;  ///< what an acquire of it learns
};

/// Bytes that are accessed together.
struct Location {
    std::uintptr_t address;
    unsigned size;   ///< bytes: 4 or 8 of an atomic, up to kUnit of payload
    bool payload;    ///< ordinary accesses only
    Stamp ordinary;  ///< the last message that an ordinary access left
    std::vector<Message> history;

    Stamp newest() const { return static_cast<Stamp>(history.size() - 1); }
};

/// The locations of a program under exploration, and its threads' views. The memory itself always
/// holds the newest values, and has its first values again after end().
class Memory {
public:
    /// Payload is watched in units of so many bytes.
    static constexpr unsigned kUnit = 16;

    /// Starts an execution of so many threads, which all know everything.
    void begin(unsigned threads) {
        views_.assign(threads, View{});
        for (Location& l : locations_) {
            l.ordinary = 0;
            l.history.resize(1);
            l.history[0] = {l.payload ? 0 : peek(l.address, l.size), View{}};
        }
        undo_.clear();
    }

    /// Gives the memory its first values back.
    void end() {
        for (; !undo_.empty(); undo_.pop_back()) {
            std::memcpy(reinterpret_cast<void*>(undo_.back().address), undo_.back().bytes.data(),
                        undo_.back().size);
        }
    }

    /// The number of the atomic object at `address`: always the same for the same object.
    unsigned atomic(std::uintptr_t address, unsigned size) { return locate(address, size, false); }

    /// Whether there has been an atomic object at `address`.
    bool knows(std::uintptr_t address) const { return numbers_.contains(key(address, false)); }

    /// Whether `thread` has seen every ordinary access to the atomic object.
    bool ordered(unsigned thread, unsigned atomic) const {
        const Location& l = locations_[atomic];
        if (views_[thread].at[atomic] < l.ordinary) return false;
        const auto unit = numbers_.find(key(l.address / kUnit * kUnit, true));
        if (unit == numbers_.end()) return true;
        const Location& u = locations_[unit->second];
        return l.address >= u.address + u.size || views_[thread].at[unit->second] == u.newest();
    }

    /// How many messages `thread` may read.
    unsigned readable(unsigned thread, unsigned atomic) const {
        return 1U + locations_[atomic].newest() - views_[thread].at[atomic];
    }

    /// The value of the `age`-th newest message.
    std::uint64_t value(unsigned atomic, unsigned age) const {
        const Location& l = locations_[atomic];
        return l.history[l.newest() - age].value;
    }

    /// Reads the `age`-th newest message.
    void read(unsigned thread, unsigned atomic, unsigned age, bool acquire) {
        const Location& l = locations_[atomic];
        const auto stamp = static_cast<Stamp>(l.newest() - age);
        views_[thread].at[atomic] = stamp;
        if (acquire) views_[thread].join(l.history[stamp].view);
    }

    /// Adds a message. `update`: of a read-modify-write that has read the newest one.
    void write(unsigned thread, unsigned atomic, std::uint64_t value, bool release, bool update) {
        const Location& l = locations_[atomic];
        poke(l.address, &value, l.size);
        Message m{value, View{}};
        if (update) m.view = l.history.back().view;
        views_[thread].at[atomic] = append(atomic, m);
        if (release) locations_[atomic].history.back().view.join(views_[thread]);
    }

    /// An ordinary access to `bytes` bytes. @return false for a data race.
    bool access(unsigned thread, std::uintptr_t address, std::uint64_t bytes) {
        bool exclusive = true;
        for (std::uint64_t i = 0; i < bytes; i += kUnit) {
            const auto size = static_cast<unsigned>(std::min<std::uint64_t>(kUnit, bytes - i));
            const unsigned unit = locate(address + i, size, true);
            locations_[unit].size = size;
            exclusive &= views_[thread].at[unit] == locations_[unit].newest();
            views_[thread].at[unit] = append(unit, {0, View{}});
        }
        for (unsigned i = 0; i < locations_.size(); ++i) {
            Location& l = locations_[i];
            if (l.payload || l.address < address || l.address >= address + bytes) continue;
            exclusive &= views_[thread].at[i] == l.newest();
            l.ordinary = append(i, {peek(l.address, l.size), View{}});
            views_[thread].at[i] = l.ordinary;
        }
        return exclusive;
    }

    /// Writes memory, to be undone at the execution's end.
    void poke(std::uintptr_t address, const void* from, unsigned size) {
        Saved s{address, size, {}};
        std::memcpy(s.bytes.data(), reinterpret_cast<void*>(address), size);
        undo_.push_back(s);
        std::memcpy(reinterpret_cast<void*>(address), from, size);
    }

    /// The object of `size` bytes at `address`, as an integer.
    static std::uint64_t peek(std::uintptr_t address, unsigned size) {
        std::uint64_t value = 0;  // little-endian, as all that this library runs on
        std::memcpy(&value, reinterpret_cast<const void*>(address), size);
        return value;
    }

    /// `thread` learns all that the others know.
    void join_all(unsigned thread) {
        for (const View& v : views_) views_[thread].join(v);
    }

    /// Two threads learn all that either knows.
    void join(unsigned thread, unsigned other) {
        views_[thread].join(views_[other]);
        views_[other].join(views_[thread]);
    }

    /// A hash of all that can still make a difference to the threads that `running` marks: equal
    /// for any two orders of steps that do not concern one another.
    std::uint64_t hash(std::uint32_t running) const {
        View base;
        base.at.fill(0xff);
        for (unsigned t = 0; t < views_.size(); ++t) {
            if ((running >> t & 1U) != 0) base.meet(views_[t]);
        }
        for (unsigned i = 0; i < locations_.size(); ++i) {
            base.at[i] = std::min(base.at[i], locations_[i].newest());
        }
        std::uint64_t h = running;
        for (unsigned i = 0; i < locations_.size(); ++i) {
            const Location& l = locations_[i];
            if (l.newest() == (l.payload ? base.at[i] : 0)) continue;
            h = mix(h, i);
            h = mix(h,
                    std::uint64_t{l.size} << 8 | (std::max(l.ordinary, base.at[i]) - base.at[i]));
            for (std::size_t k = base.at[i]; k < l.history.size(); ++k) {
                h = mix(h, l.history[k].value);
                h = mix(h, l.history[k].view.hash(base));
            }
        }
        for (unsigned t = 0; t < views_.size(); ++t) {
            if ((running >> t & 1U) != 0) h = mix(h, views_[t].hash(base));
        }
        return h;
    }

    const Location& location(unsigned number) const { return locations_[number]; }

private:
    struct Saved {
        std::uintptr_t address;
        unsigned size;
        std::array<std::byte, kUnit> bytes;
    };

    static std::uint64_t key(std::uintptr_t address, bool payload) {
        return std::uint64_t{address} * 2 + (payload ? 1 : 0);
    }

    unsigned locate(std::uintptr_t address, unsigned size, bool payload) {
        const auto [it, is_new] =
            numbers_.try_emplace(key(address, payload), static_cast<unsigned>(locations_.size()));
        if (is_new) {
            if (locations_.size() == View::kLocations) {
                throw std::length_error("the explorer cannot watch so many locations");
            }
            locations_.push_back({address, size, payload, 0, {}});
            locations_.back().history.push_back({payload ? 0 : peek(address, size), View{}});
            View::used = std::max(View::used, (it->second / 16 + 1) * 16);
        }
        return it->second;
    }

    Stamp append(unsigned location, const Message& m) {
        std::vector<Message>& history = locations_[location].history;
        if (history.size() > 0xfe) {
            throw std::length_error("too many writes to a location for the explorer");
        }
        history.push_back(m);
        return locations_[location].newest();
    }

    std::vector<Location> locations_;
    std::unordered_map<std::uint64_t, unsigned> numbers_;
    std::vector<View> views_;
    std::vector<Saved> undo_;
};

}  // namespace heapwood::tests::explorer
