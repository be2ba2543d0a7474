#include "allocators/memory/stream_scope.h"

#include <utility>

namespace heapwood::allocators {
namespace {

thread_local const StreamScope* innermost = nullptr;

}  // namespace

StreamScope::StreamScope(void* stream) noexcept
    : stream_(stream), outer_(std::exchange(innermost, this)) {}

StreamScope::~StreamScope() {
    innermost = outer_;
}

bool StreamScope::active() noexcept {
    return innermost != nullptr;
}

void* StreamScope::stream() noexcept {
    return active() ? innermost->stream_ : nullptr;
}

}  // namespace heapwood::allocators
