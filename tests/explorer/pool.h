/// @file
/// An allocator's pool as a program for the explorer: what threads can do with it, and everything
/// that must hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/platform/atomic.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/memory.h"

namespace heapwood::tests::explorer {

/// What is expected of an allocator beside soundness.
struct Expectations {
    /// A request fails only if no free memory of that size is in one piece, unless others
    /// interfere.
    bool exact = true;
    /// After all is freed, a request for the whole pool succeeds.
    bool whole = true;
    /// How a value is printed in a schedule; if not given, in hexadecimal.
    std::function<std::string(std::uint64_t)> show = nullptr;
    /// What users write into their blocks; 0: something else every time.
    bool zero_payloads = false;
};

/// A pool of an allocator A, reached through boxes in which threads leave blocks for one another.
///
/// Reported are: blocks that overlap, a payload that changes or is used in a data race, a request
/// that fails although it must not, an operation that does not end, and at the end, a walk that
/// does not tile the pool, or not show what is allocated; then, when all has been freed, a block
/// that is lost, or a pool that is not whole.
template <class A>
class Pool {
public:
    using Thread = std::function<void(Pool&)>;

    explicit Pool(const allocators::PoolConfig& config, const Expectations& expectations = {})
        : allocator_(config), ref_(allocator_.ref()), expectations_(expectations) {}
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // Before the exploration.

    /// A block that is there from the beginning.
    void* prepare(std::size_t bytes) {
        void* p = ref_.allocate({0, 0}, bytes);
        if (p == nullptr) throw std::invalid_argument("the pool is too small for the preparations");
        const Block b{address(p), bytes, ref_.granted_bytes(p, bytes), tag(0)};
        std::fill_n(static_cast<std::uint32_t*>(p), bytes / 4, b.tag);
        prepared_.push_back(b);
        return p;
    }
    /// Frees a block of prepare().
    void prepare_free(void* p) {
        const auto it = find(prepared_, p);
        ref_.deallocate({0, 0}, p, it->bytes);
        prepared_.erase(it);
    }

    // For the threads.

    /// A request that may fail if others have the memory, and the first use of its block.
    void* allocate(std::size_t bytes) { return request("allocate", bytes, false); }
    /// A request that must succeed, whatever the others do.
    void* must_allocate(std::size_t bytes) { return request("must_allocate", bytes, true); }

    /// Uses the block a last time and frees it. nullptr is ignored.
    void free(void* p) {
        if (p == nullptr) return;
        const auto it = find(live_, p);
        if (it == live_.end()) fail("not a block: " + name(address(p)));
        const Block b = *it;
        use(b, false);
        live_.erase(it);
        begin_operation("free", b.bytes);
        ref_.deallocate(context(), p, b.bytes);
        end_operation(0);
    }

    /// Leaves a block to whoever looks into the box.
    void give(unsigned box, void* p) {
        begin_operation("give", box);
        platform::AtomicRef<std::uint64_t>(boxes_[box]).store_release(address(p));
        end_operation(0);
    }
    /// What is in the box, nullptr if there is nothing; takes it out.
    void* take(unsigned box) {
        begin_operation("take", box);
        auto* p = reinterpret_cast<void*>(
            platform::AtomicRef<std::uint64_t>(boxes_[box]).exchange_acq_rel(0));
        end_operation(address(p));
        return p;
    }

    /// These threads in this pool. The pool must live as long.
    Program program(std::vector<Thread> threads) {
        Program p;
        for (Thread& t : threads) {
            p.threads.emplace_back([this, body = std::move(t)] { body(*this); });
        }
        counts_.assign(threads.size() + 1, 0);
        p.begin = [this] {
            live_ = prepared_;
            live_.reserve(64);
            std::fill(counts_.begin(), counts_.end(), 0U);
        };
        p.finish = [this] { finish(); };
        p.shared = [this] { return hash(); };
        p.name = [this](std::uintptr_t a) { return name(a); };
        if (expectations_.show) {
            p.show = [this](std::uintptr_t a, std::uint64_t v) {
                return is_box(a) ? name(v) : expectations_.show(v);
            };
        }
        return p;
    }

    const A& allocator() const { return allocator_; }

private:
    struct Block {
        std::uintptr_t begin;
        std::uint64_t bytes, granted;
        std::uint32_t tag;
    };

    static std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
    static allocators::Context context() { return {warp(), warp()}; }
    static auto find(std::vector<Block>& blocks, const void* p) {
        return std::find_if(blocks.begin(), blocks.end(),
                            [=](const Block& b) { return b.begin == address(p); });
    }

    std::uint32_t tag(std::uint32_t number) const {
        return expectations_.zero_payloads ? 0 : 0x0b10c000U + number;
    }

    void* request(const char* text, std::size_t bytes, bool must) {
        begin_operation(text, bytes);
        void* p = ref_.allocate(context(), bytes);
        const bool alone = end_operation(address(p));
        if (p == nullptr) {
            if (must) fail("a request fails that must not");
            if (alone && expectations_.exact && largest_free() >= bytes) {
                fail("a request fails although there is memory and nobody else is active");
            }
            return nullptr;
        }
        const std::uint32_t number = (thread() + 1) * 256 + ++counts_[thread()];
        const Block b{address(p), bytes, granted(p, bytes), tag(number)};
        for (const Block& other : live_) {
            if (b.begin < other.begin + other.granted && other.begin < b.begin + b.granted) {
                fail("blocks overlap: " + name(b.begin) + " and " + name(other.begin));
            }
        }
        live_.push_back(b);
        use(b, true);
        return p;
    }

    /// The owner's access to its payload: writes all of it, or looks whether it is all there.
    void use(const Block& b, bool first) {
        auto* words = reinterpret_cast<std::uint32_t*>(b.begin);
        for (std::uint64_t i = 0; i < b.bytes / 4; ++i) {
            if (first) poke(words[i], b.tag);
            if (words[i] != b.tag) fail("a payload has changed: at " + name(address(&words[i])));
        }
        access(words, b.bytes);
    }

    std::uint64_t granted(void* p, std::size_t bytes) const {
        const Aside aside;
        return std::max<std::uint64_t>(bytes, ref_.granted_bytes(p, bytes));
    }

    /// Bytes of the longest run of free regions.
    std::uint64_t largest_free() const {
        std::uint64_t run = 0;
        std::uint64_t largest = 0;
        walk([&](const allocators::Region& r) {
            run = r.allocated ? 0 : run + r.size;
            largest = std::max(largest, run);
        });
        return largest;
    }

    template <class Visitor>
    void walk(Visitor&& visit) const {
        const Aside aside;
        std::uint64_t end = 0;
        std::string trouble;
        try {
            allocator_.for_each_region([&](const allocators::Region& r) {
                if (r.offset != end) trouble = "the regions of the walk do not adjoin";
                end = r.offset + r.size;
                visit(r);
            });
        } catch (const std::exception& e) {
            trouble = e.what();
        }
        if (trouble.empty() && end != allocator_.pool_bytes()) {
            trouble = "the regions of the walk do not fill the pool";
        }
        if (!trouble.empty()) fail(trouble);
    }

    void expect_all_free() const {
        walk([](const allocators::Region& r) {
            if (r.allocated) fail("a block is lost, at byte " + std::to_string(r.offset));
        });
    }

    void expect_live_allocated() const {
        std::uint64_t bytes = 0;
        for (const Block& b : live_) bytes += b.granted;
        walk([&](const allocators::Region& r) { bytes -= r.allocated ? r.size : 0; });
        if (bytes != 0) fail("the walk shows more or less allocated than is");
    }

    void finish() {
        if (expectations_.exact) expect_live_allocated();
        while (!live_.empty()) free(reinterpret_cast<void*>(live_.back().begin));
        expect_all_free();
        if (!expectations_.whole) return;
        const std::size_t all = allocator_.pool_bytes();
        begin_operation("allocate", all);
        void* p = ref_.allocate(context(), all);
        end_operation(address(p));
        if (p == nullptr) fail("the pool does not become whole again");
        ref_.deallocate(context(), p, all);
        expect_all_free();
    }

    std::uint64_t hash() const {
        std::uint64_t h = 0;
        for (const Block& b : live_) h += mix(mix(mix(1, b.begin), b.bytes), b.tag);
        return h;
    }

    bool is_box(std::uintptr_t a) const {
        return a >= address(&boxes_[0]) && a < address(&boxes_[kBoxes]);
    }

    std::string name(std::uintptr_t a) const {
        if (a == 0) return "nullptr";
        if (is_box(a)) {
            return "box " + std::to_string((a - address(&boxes_[0])) / 8);
        }
        for (const Block& b : live_) {
            // A Buffer starts at a multiple of 256 bytes, and is no larger here.
            if (a / 256 == b.begin / 256) return "pool+" + std::to_string(a % 256);
        }
        return "";
    }

    static constexpr unsigned kBoxes = 4;

    A allocator_;
    typename A::Ref ref_;
    Expectations expectations_;
    std::uint64_t boxes_[kBoxes] = {};
    std::vector<Block> prepared_;
    std::vector<Block> live_;
    std::vector<std::uint32_t> counts_;
};

}  // namespace heapwood::tests::explorer
