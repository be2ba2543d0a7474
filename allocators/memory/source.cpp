#include "allocators/memory/source.h"

#include <limits>
#include <string>
#include <utility>

#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {
namespace {

thread_local const SourceScope* innermost_source = nullptr;

}  // namespace

SourceScope::SourceScope(MemorySource& source) noexcept
    : source_(source), outer_(std::exchange(innermost_source, this)) {}

SourceScope::~SourceScope() {
    innermost_source = outer_;
}

MemorySource* SourceScope::source(Place place) noexcept {
    for (const SourceScope* scope = innermost_source; scope != nullptr; scope = scope->outer_) {
        if (scope->source_.place() == place) return &scope->source_;
    }
    return nullptr;
}

void* GivenMemory::allocate(std::uint64_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_);
    const std::uint64_t begin =
        platform::round_up<std::uint64_t>(address + used_, kAlignmentOfSources) - address;
    if (begin > bytes_ || bytes > bytes_ - begin) {
        throw BufferError("the memory that was given has " + std::to_string(bytes_) +
                          " bytes, of " + "which " + std::to_string(used_) + " are in use; " +
                          std::to_string(bytes) + " more are needed");
    }
    used_ = begin + bytes;
    return memory_ == nullptr ? nullptr : memory_ + begin;
}

void* MeasuringSource::allocate(std::uint64_t bytes) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / 4;
    if (bytes > kMost || asked_ > kMost) throw BufferError("no address space has so many bytes");
    asked_ += platform::round_up<std::uint64_t>(bytes, kAlignmentOfSources);
    return nullptr;
}

std::uint64_t MeasuringSource::needed() const {
    return asked_ + kAlignmentOfSources - 1;
}

}  // namespace heapwood::allocators
