/// @file
/// Tests of Buffer on the host: what it promises about alignment, laziness, ranges and failures.
#include "allocators/memory/buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace heapwood::allocators {

namespace {

/// Bytes of the buffer that lie in memory, in whole pages. The system is asked for these pages
/// alone: what the whole process holds grows by itself under a sanitizer.
std::uint64_t resident_bytes(const Buffer& buffer) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data()) / page * page;
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(buffer.data()) + buffer.size();
    std::vector<unsigned char> pages((end - begin + page - 1) / page);
    if (::mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()) != 0) {
        throw std::system_error(errno, std::generic_category(), "mincore");
    }
    const auto resident = std::count_if(pages.begin(), pages.end(),
                                        [](unsigned char byte) { return (byte & 1) != 0; });
    return static_cast<std::uint64_t>(resident) * page;
}

/// Small ones and large ones come from different sources.
const std::vector<std::uint64_t> kSizes{1, 255, 256, 4096, (1 << 18) - 1, 1 << 18, 10 << 20};

TEST(Buffer, IsAlignedAndHoldsWhatIsWritten) {
    for (const std::uint64_t size : kSizes) {
        Buffer heap(Place::host, size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(heap.data()) % 256, 0U);
        EXPECT_EQ(heap.size(), size);
        heap.fill(0, 0xab, size);
        const unsigned char last = 7;
        heap.write(size - 1, &last, 1);
        std::vector<unsigned char> bytes(size);
        heap.read(0, bytes.data(), size);
        std::vector<unsigned char> expected(size, 0xab);
        expected.back() = 7;
        EXPECT_EQ(bytes, expected);
        heap.zero();
        heap.read(0, bytes.data(), size);
        EXPECT_EQ(bytes, std::vector<unsigned char>(size, 0));
    }
}

TEST(Buffer, MovesItsMemory) {
    Buffer a(Place::host, 100);
    void* data = a.data();
    Buffer b(std::move(a));
    EXPECT_EQ(b.data(), data);
    Buffer c(Place::host, 10);
    c = std::move(b);
    EXPECT_EQ(c.data(), data);
    EXPECT_EQ(c.size(), 100U);
}

TEST(Buffer, EmptyHeapHasNothing) {
    Buffer heap(Place::host, 0);
    EXPECT_EQ(heap.data(), nullptr);
    heap.zero();
    heap.fill(0, 1, 0);
    // A null pointer is no error where no byte is copied: the sanitizers watch it.
    heap.write(0, nullptr, 0);
    heap.read(0, nullptr, 0);
    EXPECT_THROW(heap.fill(0, 1, 1), BufferError);
}

TEST(Buffer, RefusesRangesOutsideIt) {
    Buffer heap(Place::host, 100);
    char c[8] = {};
    EXPECT_THROW(heap.read(93, c, 8), BufferError);
    EXPECT_THROW(heap.write(101, c, 0), BufferError);
    EXPECT_THROW(heap.fill(1, 0, ~std::uint64_t{0}), BufferError);
    heap.read(92, c, 8);
}

TEST(Buffer, WritesWordsHereAndThere) {
    Buffer heap(Place::host, 40);
    heap.fill(0, 0xff, 40);
    const std::vector<Word> words{{9, 4}, {0, 1}, {3, 2}};
    heap.write_words(words.data(), words.size());
    std::vector<std::uint32_t> found(10);
    heap.read(0, found.data(), 40);
    const std::uint32_t other = ~std::uint32_t{0};
    EXPECT_EQ(found, (std::vector<std::uint32_t>{1, other, other, 2, other, other, other, other,
                                                 other, 4}));
    const Word outside{10, 0};
    EXPECT_THROW(heap.write_words(&outside, 1), BufferError);
}

TEST(Buffer, TakesNoMemoryBeforeItIsTouched) {
    Buffer heap(Place::host, std::uint64_t{1} << 30);
    heap.zero();
    EXPECT_LT(resident_bytes(heap), 4U << 20);
    heap.fill(0, 1, 8 << 20);
    EXPECT_GE(resident_bytes(heap), 8U << 20) << "pages that were touched are not counted";
}

TEST(Buffer, SaysHowManyBytesItCouldNotHave) {
    const std::uint64_t bytes = std::uint64_t{1} << 62;
    try {
        Buffer heap(Place::host, bytes);
        FAIL() << "4 EiB were had";
    } catch (const BufferError& e) {
        EXPECT_NE(std::string(e.what()).find(std::to_string(bytes)), std::string::npos) << e.what();
    }
    EXPECT_THROW(Buffer(Place::host, ~std::uint64_t{0}), BufferError);
    EXPECT_THROW(Buffer(Place::host, ~std::uint64_t{0} - 300), BufferError);
}

}  // namespace

}  // namespace heapwood::allocators
