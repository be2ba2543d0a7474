#include "tests/explorer/search.h"

#include <array>
#include <cstdlib>
#include <exception>
#include <utility>

namespace heapwood::tests::explorer {
namespace {

/// Leaves `finish` after a finding.
struct Abandoned {};

}  // namespace

Explorer::Explorer(const Program& program, const Bounds& bounds, const Mutation& mutation)
    : program_(program), bounds_(bounds), mutation_(mutation), fibers_(threads() + 1) {
    for (Fiber& f : fibers_) f.stack = std::make_unique<std::byte[]>(kStack);
}

Result Explorer::run() {
    do {
        ++result_.executions;
        if (!execute()) {
            const std::string finding = result_.finding;
            record_.keep_steps();
            execute();
            result_.finding = finding;
            result_.schedule = record_.schedule(program_);
            break;
        }
        if (!next_execution()) {
            result_.complete = true;
            break;
        }
    } while (result_.executions < bounds_.executions);
    result_.states = seen_.size();
    result_.places = record_.places();
    return std::move(result_);
}

/// Runs the program once, along the choices so far and then along the first ones.
/// @return false if there is a finding.
bool Explorer::execute() {
    position_ = 0;
    preemptions_ = 0;
    pruned_ = false;
    result_.finding.clear();
    record_.begin_execution();
    program_.begin();
    memory_.begin(threads() + 1);
    for (Fiber& f : fibers_) {
        f.ended = f.yields = false;
        f.waits = Waits::not_at_all;
        f.past = f.present = 0;
        f.steps = f.stale_reads = 0;
        f.inside = false;
        f.alone = true;
        f.late = {};
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
    const bool may_go_on = running_ < threads() && is_able(running_) && !me().yields;
    if (may_go_on) able[count++] = running_;
    if (!may_go_on || preemptions_ < bounds_.preemptions) {
        for (unsigned t = 0; t < threads(); ++t) {
            if (t != running_ && is_able(t) && !fibers_[t].yields) able[count++] = t;
        }
    }
    if (count == 0) {
        for (unsigned t = 0; t < threads(); ++t) {
            if (is_able(t)) able[count++] = t;
        }
    }
    if (count == 0 && is_stuck()) return threads();
    const bool news = position_ == choices_.size() && !record_.keeps_steps();
    if (news && bounds_.merge && !seen_.insert(state()).second) {
        pruned_ = true;
        return threads();
    }
    if (count == 0) return threads();
    const unsigned next = able[choose(count)];
    if (may_go_on && next != running_) ++preemptions_;
    return next;
}

/// Whether there are threads that have not ended, and none of them can go on. Where a lane waits to
/// be joined, that is what comes of it if it goes alone, and need not be explored again.
bool Explorer::is_stuck() {
    bool any = false;
    for (unsigned t = 0; t < threads(); ++t) {
        if (fibers_[t].ended) continue;
        any = true;
        if (fibers_[t].waits == Waits::to_be_joined) pruned_ = true;
    }
    if (any && !pruned_) fail("a lane waits for another one of its group for ever");
    return any;
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
        h = mix(h, std::uint64_t{f.steps} << 32 | f.stale_reads << 5 |
                       static_cast<unsigned>(f.waits) << 3 | (f.yields ? 4U : 0U) |
                       (f.inside ? 2U : 0U) | (f.alone ? 1U : 0U));
    }
    if (bounds_.preemptions != Bounds::kAll) {
        h = mix(h, std::uint64_t{preemptions_} << 32 | running_);
    }
    return h;
}

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
    hand_over();
    abandon();
}

/// Lets another thread go on.
void Explorer::hand_over() {
    const unsigned next = pick_thread();
    if (next == threads()) abandon();
    if (next != running_) switch_to(next);
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
    hand_over();
}

void Explorer::fail(const std::string& what) {
    result_.finding = what;
    if (running_ == threads()) throw Abandoned{};
    abandon();
}

}  // namespace heapwood::tests::explorer
