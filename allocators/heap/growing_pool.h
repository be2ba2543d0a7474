/// @file
/// GrowingPool: the host's side of a pool that grows, whatever its parts are.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "allocators/heap/automatic_growth.h"
#include "allocators/heap/growth_limits.h"
#include "allocators/heap/growth_words.cuh"
#include "allocators/memory/buffer.h"

namespace heapwood::allocators::heap {

/// Answers the requests of kernels for more of a pool, within limits. A subclass makes the parts.
/// Neither movable nor copyable: the thread of the host refers to it. All functions but the
/// constructor are called with `mutex` locked.
class GrowingPool {
public:
    GrowingPool(const GrowingPool&) = delete;
    GrowingPool& operator=(const GrowingPool&) = delete;

    /// From now on there is a thread that answers. A second call changes the limits. Only while no
    /// kernel uses the pool.
    /// @throws std::runtime_error if the device has no virtual memory calls
    void set_limits(const GrowthLimits& new_limits);
    /// Why a part was last refused; empty if none has been since the limits were set.
    const std::string& refusal() const { return refusal_; }
    /// What kernels need to ask.
    GrowthCaller caller() const;
    /// Bytes that kernels' words take.
    std::uint64_t words_bytes() const { return words_.size(); }
    /// Tells kernels how many parts there are, while none runs.
    void tell_between_kernels();

    mutable std::mutex mutex;

protected:
    explicit GrowingPool(Place place) : place_(place), words_(place, sizeof(GrowthWords)) {}
    /// The subclass has called stop().
    ~GrowingPool() = default;

    virtual std::uint32_t part_count() const = 0;
    /// Those that kernels know of when they begin.
    virtual std::uint32_t parts_at_first() const { return part_count(); }
    virtual std::uint64_t pool_bytes() const = 0;
    /// Bytes that a part has at least.
    virtual std::uint64_t smallest_part() const = 0;
    /// Makes a part; kernels do not know of it yet. @throws BufferError if memory is short
    virtual void add(std::uint64_t bytes) = 0;

    /// A part was made by hand: what was refused may be served now.
    void forget_refusals() {
        refused_ = PartsAndBytes::kNoBytes;
        refusal_.clear();
    }
    /// Ends the thread, and waits for the device.
    void stop() {
        if (growth_ != nullptr) growth_->stop();
    }
    /// Where the memory of a pool that may grow comes from; nullptr on a CPU.
    const BesideKernels* device() const { return growth_->device(); }
    /// Where a part of a pool of one range ends. Kernels learn of it by the next answer.
    void tell_end(std::uint32_t part, std::uint64_t end) const {
        GrowthHost{growth_->mailbox()}.tell_end(part, end);
    }

private:
    PartsAndBytes answer() const { return {part_count(), refused_}; }
    /// Makes a part if a kernel has asked for one, and answers. For the thread of the host.
    void serve();
    /// If memory is short the part has half the bytes, or a quarter, as long as that will do.
    void add_for(std::uint64_t request, const NextPart& next);

    const Place place_;
    GrowthLimits limits_;
    std::uint64_t refused_ = PartsAndBytes::kNoBytes;  ///< bytes from which on requests are
    std::string refusal_;
    Buffer words_;
    std::unique_ptr<AutomaticGrowth> growth_;  ///< whose memory the parts have
};

}  // namespace heapwood::allocators::heap
