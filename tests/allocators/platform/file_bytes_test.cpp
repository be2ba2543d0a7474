/// @file
/// Bytes of files: all arrive, or the error is told.
#include "allocators/platform/file_bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <thread>

namespace heapwood::tests {
namespace {

TEST(FileBytesTest, WritesMoreThanAPipeTakesAtOnce) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const std::string text(1 << 20, 'x');
    std::string read;
    std::thread reader([&] {
        std::array<char, 1000> some;
        for (ssize_t n = 0; (n = ::read(ends[0], some.data(), some.size())) > 0;) {
            read.append(some.data(), static_cast<std::size_t>(n));
        }
    });
    EXPECT_TRUE(platform::write_all(ends[1], text));
    close(ends[1]);
    reader.join();
    close(ends[0]);
    EXPECT_EQ(read, text);
}

TEST(FileBytesTest, ReadsWhatWasWrittenToAPlaceAndTellsTheEnd) {
    FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(platform::write_at(fileno(file), 3, "abc", 3));
    std::string read(4, '?');
    EXPECT_EQ(platform::read_at(fileno(file), 2, read.data(), 4), 4U);
    EXPECT_EQ(read, std::string("\0abc", 4));
    errno = EIO;
    EXPECT_EQ(platform::read_at(fileno(file), 4, read.data(), 4), 2U);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(read.substr(0, 2), "bc");
    std::fclose(file);
}

TEST(FileBytesTest, TellsErrors) {
    char byte = 0;
    EXPECT_FALSE(platform::write_all(-1, "x"));
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(platform::read_at(-1, 0, &byte, 1), 0U);
    EXPECT_EQ(errno, EBADF);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) GTEST_SKIP() << "there is no /dev/full";
    EXPECT_FALSE(platform::write_at(full, 0, &byte, 1));
    EXPECT_EQ(errno, ENOSPC);
    close(full);
}

}  // namespace
}  // namespace heapwood::tests
