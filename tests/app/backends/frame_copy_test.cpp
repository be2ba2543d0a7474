/// @file
/// Copies of triangles in arrays of any kind of whole numbers and any strides.
///
/// Compiled twice, as backends_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "allocators/memory/buffer.h"
#include "allocators/platform/device.h"
#include "app/backends/frame_copy.cuh"
#include "tests/kdtree/dice.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Place;

constexpr Place kPlace = HEAPWOOD_TEST_GPU ? Place::device : Place::host;

/// Rows of three numbers in a row of bytes, `stride` and `column` numbers apart, at the place.
template <class T>
class Rows {
public:
    Rows(const std::vector<std::array<T, 3>>& rows, std::int64_t stride, std::int64_t column)
        : stride_(stride), column_(column) {
        std::vector<T> numbers(rows.size() * static_cast<std::size_t>(stride) +
                               3 * static_cast<std::size_t>(column));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            for (std::size_t c = 0; c < 3; ++c) {
                numbers[i * static_cast<std::size_t>(stride) +
                        c * static_cast<std::size_t>(column)] = rows[i][c];
            }
        }
        count_ = rows.size();
        there_ = Buffer(kPlace, numbers.size() * sizeof(T));
        there_.write(0, numbers.data(), there_.size());
    }
    /// Turned round: the last row is the first, by a negative stride.
    template <class Array>
    void describe(Array& array, bool turned) const {
        array.data = there_.as<T>();
        array.count = count_;
        array.stride = stride_;
        array.column_stride = column_;
        if (!turned) return;
        array.data = there_.as<T>() + static_cast<std::int64_t>(count_ - 1) * stride_;
        array.stride = -stride_;
    }

private:
    std::int64_t stride_;
    std::int64_t column_;
    std::size_t count_;
    Buffer there_;
};

class FrameCopies : public ::testing::Test {
protected:
    void SetUp() override {
        if (kPlace == Place::device && !platform::device_available()) {
            GTEST_SKIP() << platform::device_absence();
        }
    }

    /// Copies corners of this kind and positions, and looks at each.
    template <class T>
    void expect_copied(Whole kind) {
        constexpr T kMost = std::numeric_limits<T>::max();
        constexpr T kLeast = std::numeric_limits<T>::min();
        std::vector<std::array<T, 3>> corners = {{kMost, kLeast, 0}};
        for (int i = 0; i < 999; ++i) corners.push_back({number<T>(), number<T>(), number<T>()});
        if constexpr (sizeof(T) == 8) {  // what 32 bits lack, and their last numbers
            const auto wide = [](std::uint64_t x) { return static_cast<T>(x); };
            corners.push_back({wide(1ULL << 32), wide((1ULL << 32) + 1), wide(1ULL << 63)});
            corners.push_back({wide(0xFFFFFFFD), wide(0xFFFFFFFE), wide(0xFFFFFFFF)});
        }
        std::vector<std::array<float, 3>> positions;
        for (int i = 0; i < 500; ++i) {
            const glm::vec3 p = dice_.point(-9, 9);
            positions.push_back({p.x, p.y, p.z});
        }
        const bool turned = dice_() % 2 == 0;
        const bool columns = dice_() % 2 == 0;  // each column's numbers follow one another
        const auto stride = columns ? 1 : 3 + static_cast<std::int64_t>(dice_() % 3);
        const Rows<T> corner_rows(corners, stride, columns ? 2000 : 1);
        const Rows<float> position_rows(positions, stride, columns ? 2000 : 1);
        CornerArray from_corners;
        from_corners.kind = kind;
        corner_rows.describe(from_corners, turned);
        RowArray<float> from_positions;
        position_rows.describe(from_positions, turned);

        const FrameCopy copy(kPlace, from_positions, from_corners, nullptr);
        const std::vector<glm::uvec3> triangles = copy.triangles();
        const std::vector<glm::vec3> points = copy.positions();
        ASSERT_EQ(triangles.size(), corners.size());
        ASSERT_EQ(points.size(), positions.size());
        EXPECT_EQ(copy.frame().triangle_count, corners.size());
        EXPECT_EQ(copy.frame().position_count, positions.size());
        for (std::size_t i = 0; i < corners.size(); ++i) {
            const auto& row = corners[turned ? corners.size() - 1 - i : i];
            for (int c = 0; c < 3; ++c) {
                const T number = row[static_cast<std::size_t>(c)];
                const bool wrong =
                    (std::numeric_limits<T>::is_signed && number < T(1) && number != 0) ||
                    static_cast<std::uint64_t>(number) > 0xFFFFFFFE;
                ASSERT_EQ(triangles[i][c], wrong ? kNoPosition : static_cast<std::uint32_t>(number))
                    << "row " << i;
            }
        }
        for (std::size_t i = 0; i < positions.size(); ++i) {
            const auto& row = positions[turned ? positions.size() - 1 - i : i];
            ASSERT_EQ(points[i], (glm::vec3{row[0], row[1], row[2]})) << "row " << i;
        }
    }

private:
    template <class T>
    T number() {
        const std::uint64_t low = dice_();
        return static_cast<T>(std::uint64_t{dice_()} << 32 | (low & 0xFFFFFFFF));
    }

    kdtree::tests::Dice dice_;
};

TEST_F(FrameCopies, HaveAllThatIsInTheArrays) {
    expect_copied<std::int8_t>(Whole::i8);
    expect_copied<std::int16_t>(Whole::i16);
    expect_copied<std::int32_t>(Whole::i32);
    expect_copied<std::int64_t>(Whole::i64);
    expect_copied<std::uint8_t>(Whole::u8);
    expect_copied<std::uint16_t>(Whole::u16);
    expect_copied<std::uint32_t>(Whole::u32);
    expect_copied<std::uint64_t>(Whole::u64);
}

TEST_F(FrameCopies, OfNothingAreEmpty) {
    const FrameCopy copy(kPlace, {}, {}, nullptr);
    EXPECT_EQ(copy.frame().triangle_count, 0U);
    EXPECT_TRUE(copy.positions().empty());
    EXPECT_TRUE(copy.triangles().empty());
}

}  // namespace
}  // namespace heapwood::app
