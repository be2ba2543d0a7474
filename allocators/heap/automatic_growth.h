/// @file
/// What a pool needs to grow while a kernel runs, beside its parts.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "allocators/heap/growth_limits.h"
#include "allocators/heap/growth_words.cuh"
#include "allocators/memory/beside_kernels.h"
#include "allocators/memory/buffer.h"

namespace heapwood::allocators {

namespace heap {

/// What the limits say of a pool's next part.
struct NextPart {
    /// @param parts that there are, of `pool` bytes together
    /// @param smallest_part bytes that a part can have
    NextPart(const GrowthLimits& limits, std::uint32_t parts, std::uint64_t pool,
             std::uint64_t smallest_part);

    /// Bytes of the part for a request of at most `left` bytes.
    std::uint64_t bytes_for(std::uint64_t request) const;
    /// Bytes that do, if memory is short. May be more than bytes_for().
    std::uint64_t least_for(std::uint64_t request) const;

    std::uint64_t left;        ///< most bytes of the next part; 0: the pool takes no other
    std::uint64_t wished = 0;  ///< bytes of a part for small requests
    std::uint64_t smallest;
};

/// The mailbox, and the thread of the host that looks into it. Neither movable nor copyable.
class AutomaticGrowth {
public:
    /// @param serve looks for a request and answers it. The thread calls it again and again, in a
    ///     scope in which Buffers can be made and written while a kernel runs
    /// @throws std::runtime_error if the device cannot do that, with a sentence that says so
    AutomaticGrowth(Place place, std::function<void()> serve);
    ~AutomaticGrowth() { stop(); }
    AutomaticGrowth(const AutomaticGrowth&) = delete;
    AutomaticGrowth& operator=(const AutomaticGrowth&) = delete;

    /// A kernel that may ask is about to begin: on a GPU, whose kernels may take less time than a
    /// pause of the thread, the thread looks without pauses for some milliseconds.
    void expect_requests() {
        if (device_) without_pauses_until_ = std::chrono::steady_clock::now() + kWithoutPauses;
    }
    /// Ends the thread, and waits for the device. Memory of parts is given back after that, and
    /// before this object ends.
    void stop();

    Mailbox* mailbox() const { return mailbox_; }
    /// Where memory comes from; nullptr on a CPU.
    const BesideKernels* device() const { return device_.get(); }

private:
    using Time = std::chrono::steady_clock::time_point;

    /// As long as a kernel takes to which some microseconds matter.
    static constexpr std::chrono::milliseconds kWithoutPauses{5};

    void run();

    std::function<void()> serve_;
    std::unique_ptr<BesideKernels> device_;  ///< nullptr on a CPU
    Buffer host_mailbox_;
    Mailbox* mailbox_;
    std::atomic<Time> without_pauses_until_ = Time::min();
    std::mutex mutex_;
    std::condition_variable ends_;
    bool has_ended_ = false;
    std::thread thread_;  ///< the last member: it uses the others
};

}  // namespace heap

}  // namespace heapwood::allocators
