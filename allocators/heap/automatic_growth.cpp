#include "allocators/heap/automatic_growth.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "allocators/heap/growing_ref.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators::heap {

namespace {

/// Between two looks into the mailbox: short beside what a part takes, and little work.
constexpr std::chrono::microseconds kBetweenLooks{100};

}  // namespace

NextPart::NextPart(const GrowthLimits& limits, std::uint32_t parts, std::uint64_t pool,
                   std::uint64_t smallest_part)
    : left(parts < kMostParts && limits.most > pool ? limits.most - pool : 0),
      smallest(smallest_part) {
    if (left < smallest) left = 0;
    if (left == 0) return;
    wished = std::max(limits.step, platform::ceil_div<std::uint64_t>(left, kMostParts - parts));
}

std::uint64_t NextPart::bytes_for(std::uint64_t request) const {
    return std::min(left, std::max(wished, least_for(request)));
}

std::uint64_t NextPart::least_for(std::uint64_t request) const {
    // Allocators round a request up, to a power of two at most.
    return 2 * request + smallest;
}

AutomaticGrowth::AutomaticGrowth(Place place, std::function<void()> serve)
    : serve_(std::move(serve)) {
    void* words = nullptr;
    if (place == Place::device) {
        device_ = std::make_unique<BesideKernels>();
        words = device_->pinned();
    } else {
        host_mailbox_ = Buffer(Place::host, sizeof(Mailbox));
        words = host_mailbox_.data();
    }
    static_assert(sizeof(Mailbox) <= BesideKernels::kPinnedBytes);
    mailbox_ = ::new (words) Mailbox{};
    thread_ = std::thread([this] { run(); });
}

void AutomaticGrowth::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        has_ended_ = true;
    }
    ends_.notify_one();
    thread_.join();
    if (device_) device_->wait();  // a kernel may use the parts still
}

void AutomaticGrowth::run() {
    std::optional<BesideKernels::Scope> scope;
    try {
        if (device_) scope.emplace(*device_);
    } catch (const std::exception&) {
        // The device has failed. A call that waits is refused when its patience ends.
        return;
    }
    std::unique_lock lock(mutex_);
    for (;;) {
        const bool pauses = std::chrono::steady_clock::now() >= without_pauses_until_.load();
        const auto pause = pauses ? kBetweenLooks : std::chrono::microseconds(0);
        if (ends_.wait_for(lock, pause, [this] { return has_ended_; })) return;
        lock.unlock();
        serve_();
        lock.lock();
    }
}

}  // namespace heapwood::allocators::heap
