/// @file
/// A list that grows without moving what it holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace heapwood::scenes {

/// A list of trivially copyable values for when their number is not known beforehand. A growing
/// std::vector holds up to three times its contents while it moves; this never more than once,
/// and take() at most one chunk more.
template <class T>
class Chunked {
public:
    /// Adds a value at the end.
    void push_back(const T& value) {
        if (size_ % kChunk == 0) {
            chunks_.push_back(std::make_unique_for_overwrite<T[]>(kChunk));
        }
        chunks_.back()[size_ % kChunk] = value;
        ++size_;
    }

    const T& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }

    /// Number of values.
    std::size_t size() const { return size_; }

    /// All values as a vector of exactly that capacity; the list is empty afterwards.
    std::vector<T> take() {
        std::vector<T> out;
        out.reserve(size_);
        for (auto& chunk : chunks_) {
            const std::size_t count = std::min(kChunk, size_ - out.size());
            out.insert(out.end(), chunk.get(), chunk.get() + count);
            chunk.reset();
        }
        chunks_.clear();
        size_ = 0;
        return out;
    }

private:
    static constexpr std::size_t kChunk = std::size_t{1} << 18;

    std::vector<std::unique_ptr<T[]>> chunks_;
    std::size_t size_ = 0;
};

}  // namespace heapwood::scenes
