/// @file
/// Buffer: its host half, and the choice between the two.
#include "allocators/memory/buffer.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "allocators/memory/buffer_device.h"
#include "allocators/memory/source.h"
#include "allocators/platform/bits.cuh"

#if defined(__linux__)
#include <sys/mman.h>

#include <cerrno>
#endif

namespace heapwood::allocators {

namespace {

constexpr std::uint64_t kHostAlignment = 256;

#if defined(__linux__)
/// From here on host memory is mapped: the system then gives pages when they are first touched,
/// already zero, and takes them back on demand.
constexpr std::uint64_t kSmallestMapping = 1 << 18;
#endif

bool is_mapped([[maybe_unused]] std::uint64_t bytes) {
#if defined(__linux__)
    return bytes >= kSmallestMapping;
#else
    return false;
#endif
}

[[noreturn]] void refuse(std::uint64_t bytes, const char* why) {
    throw BufferError("allocating " + std::to_string(bytes) +
                      " bytes of host memory failed: " + why);
}

void* host_allocate(std::uint64_t bytes) {
    if (bytes > SIZE_MAX - kHostAlignment) refuse(bytes, "no address space has that many");
#if defined(__linux__)
    if (is_mapped(bytes)) {
        void* data =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (data == MAP_FAILED) refuse(bytes, std::strerror(errno));
        return data;
    }
#endif
    void* data = std::aligned_alloc(kHostAlignment, platform::round_up(bytes, kHostAlignment));
    if (data == nullptr) refuse(bytes, "out of memory");
    return data;
}

void host_free(void* data, std::uint64_t bytes) noexcept {
#if defined(__linux__)
    if (is_mapped(bytes)) {
        munmap(data, bytes);
        return;
    }
#endif
    (void)bytes;
    std::free(data);
}

}  // namespace

Buffer::Buffer(Place place, std::uint64_t bytes) : place_(place), bytes_(bytes) {
    if (bytes == 0) return;
    source_ = SourceScope::source(place);
    if (source_ != nullptr) {
        data_ = source_->allocate(bytes);
    } else {
        data_ = place == Place::device ? detail::device_allocate(bytes) : host_allocate(bytes);
    }
}

Buffer::Buffer(Buffer&& other) noexcept
    : place_(other.place_),
      bytes_(std::exchange(other.bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      source_(std::exchange(other.source_, nullptr)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(place_, other.place_);
    std::swap(bytes_, other.bytes_);
    std::swap(data_, other.data_);
    std::swap(source_, other.source_);
    return *this;
}

Buffer::~Buffer() {
    if (data_ == nullptr) return;
    if (source_ != nullptr) {
        source_->deallocate(data_, bytes_);
    } else if (place_ == Place::device) {
        detail::device_free(data_);
    } else {
        host_free(data_, bytes_);
    }
}

std::byte* Buffer::range(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset) {
        throw BufferError("bytes " + std::to_string(offset) + " to " +
                          std::to_string(offset + bytes) + " do not lie within a heap of " +
                          std::to_string(bytes_));
    }
    return bytes == 0 || data_ == nullptr ? nullptr : as<std::byte>() + offset;
}

void Buffer::write(std::uint64_t offset, const void* from, std::uint64_t bytes) {
    std::byte* to = range(offset, bytes);
    if (to == nullptr) return;
    if (place_ == Place::device) {
        detail::device_write(to, from, bytes);
    } else {
        std::memcpy(to, from, bytes);
    }
}

void Buffer::write_words(const Word* words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        range(std::uint64_t{words[i].index} * sizeof(std::uint32_t), sizeof(std::uint32_t));
    }
    if (data_ == nullptr) return;
    if (place_ == Place::device) {
        detail::device_write_words(as<std::uint32_t>(), words, count);
    } else {
        for (std::size_t i = 0; i < count; ++i)
            as<std::uint32_t>()[words[i].index] = words[i].value;
    }
}

void Buffer::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
    const std::byte* from = range(offset, bytes);
    if (bytes == 0) return;  // `to` may be null then, which std::memset does not take.
    if (from == nullptr) {
        std::memset(to, 0, bytes);
        return;
    }
    if (place_ == Place::device) {
        detail::device_read(to, from, bytes);
    } else {
        std::memcpy(to, from, bytes);
    }
}

void Buffer::fill(std::uint64_t offset, unsigned char value, std::uint64_t bytes) {
    std::byte* to = range(offset, bytes);
    if (to == nullptr) return;
    if (place_ == Place::device) {
        detail::device_fill(to, value, bytes);
    } else {
        std::memset(to, value, bytes);
    }
}

void Buffer::zero() {
#if defined(__linux__)
    // Giving the pages back makes them zero without touching one of them.
    if (place_ == Place::host && source_ == nullptr && is_mapped(bytes_) &&
        madvise(data_, bytes_, MADV_DONTNEED) == 0) {
        return;
    }
#endif
    fill(0, 0, bytes_);
}

}  // namespace heapwood::allocators
