#include "allocators/memory/array_pool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

namespace {

std::uint64_t chunks_of(std::uint64_t bytes) {
    if (bytes > UINT64_MAX - ArrayPool::kChunk) {
        throw BufferError("no machine has " + std::to_string(bytes) + " bytes");
    }
    return platform::ceil_div(bytes, ArrayPool::kChunk);
}

}  // namespace

ArrayPool::Block::Block(Block&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      slab_(other.slab_),
      index_(other.index_),
      bytes_(std::exchange(other.bytes_, 0)) {}

ArrayPool::Block& ArrayPool::Block::operator=(Block&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(slab_, other.slab_);
    std::swap(index_, other.index_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

ArrayPool::Block::~Block() {
    if (pool_ != nullptr) pool_->release(slab_, index_, chunks_of(bytes_));
}

void* ArrayPool::Block::data() const {
    if (pool_ == nullptr) return nullptr;
    return pool_->slabs_.at(slab_).heap.as<std::byte>() + index_ * kChunk;
}

Buffer& ArrayPool::Block::heap(std::uint64_t offset, std::uint64_t bytes) const {
    if (pool_ == nullptr || offset > bytes_ || bytes > bytes_ - offset) {
        throw BufferError("bytes " + std::to_string(offset) + " to " +
                          std::to_string(offset + bytes) + " do not lie within a block of " +
                          std::to_string(bytes_));
    }
    return pool_->slabs_.at(slab_).heap;
}

void ArrayPool::Block::write(std::uint64_t offset, const void* from, std::uint64_t bytes) {
    if (bytes > 0) heap(offset, bytes).write(index_ * kChunk + offset, from, bytes);
}

void ArrayPool::Block::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
    if (bytes > 0) heap(offset, bytes).read(index_ * kChunk + offset, to, bytes);
}

void ArrayPool::Block::fill(std::uint64_t offset, unsigned char value, std::uint64_t bytes) {
    if (bytes > 0) heap(offset, bytes).fill(index_ * kChunk + offset, value, bytes);
}

void ArrayPool::reset_peak() {
    statistics_.peak_live_bytes = statistics_.live_bytes;
    statistics_.peak_slab_bytes = statistics_.slab_bytes;
}

std::uint64_t ArrayPool::largest_free_bytes() const {
    return by_size_.empty() ? 0 : std::get<0>(*by_size_.rbegin()) * kChunk;
}

std::uint64_t ArrayPool::add_slab(std::uint64_t chunks) {
    Buffer heap(place_, chunks * kChunk);
    const std::uint64_t slab = next_slab_++;
    slabs_[slab].heap = std::move(heap);
    statistics_.slab_bytes += chunks * kChunk;
    statistics_.peak_slab_bytes = std::max(statistics_.peak_slab_bytes, statistics_.slab_bytes);
    return slab;
}

void ArrayPool::add_free_slab(std::uint64_t chunks) {
    const std::uint64_t slab = add_slab(chunks);
    slabs_[slab].free.emplace(0, chunks);
    by_size_.emplace(chunks, slab, 0);
    last_chunks_ = chunks;
}

void ArrayPool::grow(std::uint64_t chunks) {
    try {
        add_free_slab(std::max(chunks, 2 * last_chunks_));
    } catch (const BufferError&) {
        // Near the machine's limit there is room for what is needed at most, and perhaps only in
        // place of slabs that are too small.
        trim();
        add_free_slab(chunks);
    }
}

bool ArrayPool::reserve(std::uint64_t bytes) try {
    if (keep_ == Keep::nothing) return true;
    const std::uint64_t chunks = chunks_of(bytes);
    if (largest_free_bytes() / kChunk < chunks) add_free_slab(chunks);
    return true;
} catch (const BufferError&) {
    return false;
}

void ArrayPool::trim() noexcept {
    for (auto slab = slabs_.begin(); slab != slabs_.end();) {
        const auto& [heap, free] = slab->second;
        const std::uint64_t chunks = heap.size() / kChunk;
        if (free.empty() || free.begin()->second != chunks) {
            ++slab;
            continue;
        }
        by_size_.erase({chunks, slab->first, 0});
        statistics_.slab_bytes -= heap.size();
        slab = slabs_.erase(slab);
    }
}

ArrayPool::Block ArrayPool::request(std::uint64_t bytes, const char* what) try {
    if (bytes == 0) return {};
    const std::uint64_t chunks = chunks_of(bytes);
    ++statistics_.requests;
    std::uint64_t slab = 0;
    std::uint64_t index = 0;
    if (keep_ == Keep::nothing) {
        slab = add_slab(chunks);
        ++statistics_.grown;
    } else {
        auto best = by_size_.lower_bound({chunks, 0, 0});
        if (best == by_size_.end()) {
            grow(chunks);
            ++statistics_.grown;
            best = by_size_.lower_bound({chunks, 0, 0});
        }
        std::uint64_t size = 0;
        std::tie(size, slab, index) = *best;
        auto& free = slabs_[slab].free;
        by_size_.erase(best);
        free.erase(index);
        if (size > chunks) {
            by_size_.emplace(size - chunks, slab, index + chunks);
            free.emplace(index + chunks, size - chunks);
        }
    }
    statistics_.live_bytes += chunks * kChunk;
    statistics_.peak_live_bytes = std::max(statistics_.peak_live_bytes, statistics_.live_bytes);
    return Block(*this, slab, index, bytes);
} catch (const BufferError& error) {
    throw BufferError(std::string(what) + ": " + error.what());
}

void ArrayPool::release(std::uint64_t slab, std::uint64_t index, std::uint64_t chunks) noexcept {
    statistics_.live_bytes -= chunks * kChunk;
    const auto found = slabs_.find(slab);
    if (keep_ == Keep::nothing) {
        statistics_.slab_bytes -= found->second.heap.size();
        slabs_.erase(found);
        return;
    }
    auto& free = found->second.free;
    const auto above = free.lower_bound(index);
    if (above != free.begin()) {
        const auto below = std::prev(above);
        if (below->first + below->second == index) {
            by_size_.erase({below->second, slab, below->first});
            index = below->first;
            chunks += below->second;
            free.erase(below);
        }
    }
    if (above != free.end() && above->first == index + chunks) {
        by_size_.erase({above->second, slab, above->first});
        chunks += above->second;
        free.erase(above);
    }
    free.emplace(index, chunks);
    by_size_.emplace(chunks, slab, index);
}

}  // namespace heapwood::allocators
