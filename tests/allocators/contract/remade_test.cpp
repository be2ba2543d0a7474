/// @file
/// Remade: reset() of an allocator that has none.
#include "allocators/remade.cuh"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <type_traits>

#include "allocators/atomicmalloc.cuh"
#include "allocators/options.h"

namespace heapwood::tests {
namespace {

using namespace allocators;

/// Counts its pools, each of which has a number. Can be neither moved nor reset.
class Numbered {
public:
    static constexpr Option kOption{"depth", "--depth", "1|2", "of nothing"};
    static constexpr Traits traits() {
        return {.name = "numbered",
                .title = "",
                .source = "",
                .frees_individually = false,
                .full = false,
                .walkable = true,
                .smallest_pool = 16,
                .one_at_a_time = true};
    }
    static constexpr std::span<const Option> options() { return {&kOption, 1}; }
    struct Ref {
        int number;
        void* allocate(const Context&, std::size_t) const { return nullptr; }
        void deallocate(const Context&, void*, std::size_t) const {}
        std::uint64_t granted_bytes(const void*, std::size_t) const { return 0; }
    };
    explicit Numbered(const PoolConfig& config) : bytes_(config.bytes) {
        EXPECT_EQ(alive, 0) << "the old pool has to end first";
        if (fails) throw BufferError("no room");
        ++alive;
        ++made;
    }
    ~Numbered() { --alive; }
    Numbered(const Numbered&) = delete;
    Ref ref() const { return {made}; }
    std::uint64_t pool_bytes() const { return bytes_; }
    std::uint64_t overhead_bytes() const { return 7; }
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        visit(Region{0, bytes_, false});
    }

    inline static int alive = 0;
    inline static int made = 0;
    inline static bool fails = false;

private:
    std::uint64_t bytes_;
};

static_assert(!Allocator<Numbered>);
static_assert(Allocator<Complete<Numbered>>);
static_assert(std::is_same_v<Complete<Numbered>, Remade<Numbered>>);
static_assert(std::is_same_v<Complete<AtomicMalloc>, AtomicMalloc>);
static_assert(kIsRemade<Complete<Numbered>> && !kIsRemade<Complete<AtomicMalloc>>);
static_assert(options_of<Remade<Numbered>>().size() == 1);
static_assert(Remade<Numbered>::traits().one_at_a_time);

class RemadeTest : public ::testing::Test {
protected:
    RemadeTest() { Numbered::made = 1; }  // pool_
    ~RemadeTest() override {
        pool_.reset();
        EXPECT_EQ(Numbered::alive, 0);
    }
    std::unique_ptr<Remade<Numbered>> pool_ =
        std::make_unique<Remade<Numbered>>(PoolConfig{.bytes = 64});
};

TEST_F(RemadeTest, MakesAnotherPoolWhereAHandleWasTaken) {
    pool_->reset();
    EXPECT_EQ(Numbered::made, 1) << "nobody can have used the pool";
    for (int number = 1; number < 4; ++number) {
        EXPECT_EQ(pool_->ref().number, number);
        pool_->reset();
        pool_->reset();
        EXPECT_EQ(Numbered::made, number + 1);
    }
}

TEST_F(RemadeTest, PassesOnWhatThePoolSays) {
    EXPECT_EQ(pool_->pool_bytes(), 64U);
    EXPECT_EQ(pool_->overhead_bytes(), 7U);
    Region seen{};
    pool_->for_each_region([&](const Region& region) { seen = region; });
    EXPECT_EQ(seen, (Region{0, 64, false}));
}

TEST_F(RemadeTest, TriesAgainAfterAPoolThatCouldNotBeMade) {
    pool_->ref();
    Numbered::fails = true;
    EXPECT_THROW(pool_->reset(), BufferError);
    EXPECT_THROW(pool_->reset(), BufferError);
    Numbered::fails = false;
    pool_->reset();
    EXPECT_EQ(pool_->ref().number, 2);
}

TEST_F(RemadeTest, IsMovedWithItsPool) {
    pool_->ref();
    Remade<Numbered> other(std::move(*pool_));
    pool_.reset();
    EXPECT_EQ(Numbered::alive, 1);
    other.reset();
    EXPECT_EQ(Numbered::made, 2);
}

}  // namespace
}  // namespace heapwood::tests
