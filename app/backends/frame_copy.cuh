/// @file
/// Triangles of any array, copied where they lie to where a build reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/memory/buffer.h"
#include "allocators/platform/macros.cuh"
#include "kdtree/single/frame.cuh"
#include "scenes/glm.h"

namespace heapwood::app {

/// Kinds of whole numbers that an array may have.
enum class Whole : std::uint32_t { i8, i16, i32, i64, u8, u16, u32, u64 };

/// Rows of three numbers anywhere in a machine's memory. Strides are in numbers. Owns nothing.
template <class T>
struct RowArray {
    const T* data = nullptr;
    std::uint64_t count = 0;
    std::int64_t stride = 3;
    std::int64_t column_stride = 1;
};

/// The corners of triangles: rows of whole numbers.
struct CornerArray : RowArray<void> {
    Whole kind = Whole::i32;
};

/// Position `i` of the array.
HEAPWOOD_INLINE glm::vec3 position_at(const RowArray<float>& from, std::uint64_t i) {
    const float* row = from.data + static_cast<std::int64_t>(i) * from.stride;
    return {row[0], row[from.column_stride], row[2 * from.column_stride]};
}

/// No position has this number, for a frame has fewer than 2^32.
inline constexpr std::uint32_t kNoPosition = 0xFFFFFFFFU;

template <class T>
HEAPWOOD_INLINE std::uint32_t position_number(T number) {
    const auto wide = static_cast<std::uint64_t>(number);  // of a negative one: 2^63 or more
    return wide < kNoPosition ? static_cast<std::uint32_t>(wide) : kNoPosition;
}

/// The corners of triangle `i`. A number below 0 or above 2^32 - 2 becomes kNoPosition.
HEAPWOOD_INLINE glm::uvec3 corners_at(const CornerArray& from, std::uint64_t i) {
    const std::int64_t at = static_cast<std::int64_t>(i) * from.stride;
    const auto read = [&]<class T>(const T* numbers) {
        const T* row = numbers + at;
        return glm::uvec3{position_number(row[0]), position_number(row[from.column_stride]),
                          position_number(row[2 * from.column_stride])};
    };
    switch (from.kind) {
        case Whole::i8:
            return read(static_cast<const std::int8_t*>(from.data));
        case Whole::i16:
            return read(static_cast<const std::int16_t*>(from.data));
        case Whole::i32:
            return read(static_cast<const std::int32_t*>(from.data));
        case Whole::i64:
            return read(static_cast<const std::int64_t*>(from.data));
        case Whole::u8:
            return read(static_cast<const std::uint8_t*>(from.data));
        case Whole::u16:
            return read(static_cast<const std::uint16_t*>(from.data));
        case Whole::u32:
            return read(static_cast<const std::uint32_t*>(from.data));
        case Whole::u64:
            return read(static_cast<const std::uint64_t*>(from.data));
    }
    return {kNoPosition, kNoPosition, kNoPosition};
}

/// A copy of positions and triangles, at their place.
class FrameCopy {
public:
    /// Copies on the stream, and does not wait for it.
    /// @param positions fewer than 2^32; at `place`, as `corners`
    /// @param corners fewer than 2^32
    /// @param stream GPU only: a cudaStream_t of the current device; nullptr: the default stream
    /// @throws allocators::BufferError, and std::runtime_error with CUDA's answer.
    FrameCopy(allocators::Place place, const RowArray<float>& positions, const CornerArray& corners,
              void* stream);

    /// The copy, without a box. A corner that does not exist is among its triangles still.
    kdtree::Frame frame() const;
    /// The same on the host, when the stream has come past.
    std::vector<glm::vec3> positions() const;
    std::vector<glm::uvec3> triangles() const;

private:
    allocators::Buffer positions_;
    allocators::Buffer triangles_;
};

namespace detail {

/// The CUDA half of FrameCopy: frame_copy_gpu.cu, or frame_copy_no_gpu.cpp, which refuses.
void copy_frame_on_gpu(const RowArray<float>& positions, glm::vec3* to_positions,
                       const CornerArray& corners, glm::uvec3* to_triangles, void* stream);

}  // namespace detail

}  // namespace heapwood::app
