#include "allocators/heap/growing_pool.h"

#include <exception>

namespace heapwood::allocators::heap {

void GrowingPool::set_limits(const GrowthLimits& new_limits) {
    limits_ = new_limits;
    forget_refusals();
    if (growth_ == nullptr) {
        growth_ = std::make_unique<AutomaticGrowth>(place_, [this] { serve(); });
    }
}

GrowthCaller GrowingPool::caller() const {
    return {words_.as<GrowthWords>(), growth_ == nullptr ? nullptr : growth_->mailbox(),
            static_cast<std::uint64_t>(limits_.patience.count())};
}

void GrowingPool::tell_between_kernels() {
    GrowthWords now{};
    // Of parts that kernels are yet to hear of, nothing is known to be refused.
    const bool is_last = parts_at_first() == part_count();
    now.known =
        PartsAndBytes{parts_at_first(), is_last ? refused_ : PartsAndBytes::kNoBytes}.word();
    words_.write(0, &now, sizeof now);
    if (growth_ == nullptr) return;
    const GrowthHost host{growth_->mailbox()};
    host.forget_request();
    host.answer(answer());
    growth_->expect_requests();
}

void GrowingPool::serve() {
    const std::lock_guard lock(mutex);
    const GrowthHost host{growth_->mailbox()};
    const PartsAndBytes request = host.request();
    if (request.parts != part_count() || request.bytes >= refused_) return;
    const NextPart next(limits_, part_count(), pool_bytes(), smallest_part());
    if (request.bytes > next.left) {
        refused_ = next.left + 1;
        refusal_ = "a request of " + std::to_string(request.bytes) +
                   " bytes needs a part beside the " + std::to_string(part_count()) +
                   " that there are, of " + std::to_string(pool_bytes()) +
                   " bytes; the pool may have " + std::to_string(limits_.most) +
                   " bytes, in at most " + std::to_string(kMostParts) + " parts";
    } else {
        try {
            add_for(request.bytes, next);
            refused_ = PartsAndBytes::kNoBytes;
        } catch (const std::exception& failure) {
            // Half as much may be had: then the next request finds out.
            refused_ = request.bytes / 2 + 1;
            refusal_ = failure.what();
        }
    }
    host.answer(answer());
}

void GrowingPool::add_for(std::uint64_t request, const NextPart& next) {
    for (std::uint64_t bytes = next.bytes_for(request);; bytes /= 2) {
        try {
            add(bytes);
            return;
        } catch (const BufferError&) {
            if (bytes / 2 < next.least_for(request)) throw;
        }
    }
}

}  // namespace heapwood::allocators::heap
