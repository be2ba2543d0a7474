/// @file
/// Files as streams: compression, damage, reading in pieces, reading errors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <istream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "scenes/obj/byte_source.h"
#include "scenes/obj/obj_filter.h"
#include "scenes/scene.h"
#include "tests/scenes/temp_folder.h"

#if HEAPWOOD_HAS_LZMA
#include <lzma.h>
#endif
#if HEAPWOOD_HAS_ZLIB
#include <zlib.h>
#endif

namespace heapwood::scenes {
namespace {

/// An OBJ of many lines, so that its compressed form takes more than one step to decompress.
std::string long_obj() {
    std::string text = "# grid\n";
    for (int i = 0; i != 20'000; ++i) {
        text += "v " + std::to_string(i % 141) + " " + std::to_string(i * 7919 % 1000) + " " +
                std::to_string(i / 141) + "\n";
    }
    for (int i = 1; i + 142 < 20'000; ++i) {
        text += "f " + std::to_string(i) + " " + std::to_string(i + 1) + " " +
                std::to_string(i + 142) + "\n";
    }
    return text;
}

std::string message_of(const std::string& path) {
    try {
        (void)load(path);
    } catch (const SceneError& error) {
        return error.what();
    }
    return "no error";
}

void expect_equal(const Scene& a, const Scene& b) {
    EXPECT_EQ(a.positions, b.positions);
    EXPECT_EQ(a.triangles, b.triangles);
    EXPECT_EQ(a.degenerate, b.degenerate);
}

/// What every compression must do, given a function that compresses.
template <class Pack>
void check_compression(const std::string& ending, const std::string& format, Pack pack) {
    const TempFolder folder;
    const std::string text = long_obj();
    const Scene plain = load(folder.write("plain.obj", text));
    ASSERT_GT(plain.triangles.size(), 10'000u);
    const std::string packed = pack(text);
    expect_equal(load(folder.write("a.obj" + ending, packed)), plain);
    expect_equal(load(folder.write("unexpected.obj", packed)), plain);

    const std::size_t half = text.find('\n', text.size() / 2) + 1;
    const std::string both = pack(text.substr(0, half)) + pack(text.substr(half));
    expect_equal(load(folder.write("b.obj" + ending, both)), plain);

    for (const std::size_t size : {packed.size() - 1, packed.size() / 2, std::size_t{7}}) {
        const std::string path = folder.write("short.obj" + ending, packed.substr(0, size));
        EXPECT_EQ(message_of(path),
                  path + ": the " + format + " data ends early; fetch the file again");
    }
    std::string damaged = packed;
    for (std::size_t i = 0; i != 20; ++i) damaged[packed.size() / 2 + i] ^= 0x5A;
    const std::string path = folder.write("damaged.obj" + ending, damaged);
    EXPECT_TRUE(message_of(path).starts_with(path)) << message_of(path);

    const std::string tail = folder.write("tail.obj" + ending, packed + std::string(64, 'x'));
    EXPECT_EQ(message_of(tail),
              tail + ": the " + format + " data is damaged; fetch the file again");

    const std::string bad = folder.write("bad.obj" + ending, pack("v 0 0 0\nv 1 nan 0\nf 1 2 1\n"));
    EXPECT_TRUE(message_of(bad).starts_with(bad + ":2: ")) << message_of(bad);

    const std::string nothing = folder.write("nothing.obj" + ending, pack(""));
    EXPECT_TRUE(message_of(nothing).starts_with(nothing + ": no triangle")) << message_of(nothing);

    const std::string wrong = folder.write("wrong.obj" + ending, text);
    EXPECT_TRUE(message_of(wrong).starts_with(wrong + ": is named " + ending));
}

TEST(Stream, Xz) {
#if HEAPWOOD_HAS_LZMA
    check_compression(".xz", "xz", [](const std::string& text) {
        std::string out(lzma_stream_buffer_bound(text.size()), '\0');
        std::size_t size = 0;
        EXPECT_EQ(
            lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
        return out.substr(0, size);
    });
#else
    const TempFolder folder;
    const std::string path = folder.write("a.obj.xz", std::string_view("\xFD"
                                                                       "7zXZ\0rest",
                                                                       10));
    EXPECT_NE(message_of(path).find("install the package liblzma-dev"), std::string::npos);
#endif
}

TEST(Stream, Gzip) {
#if HEAPWOOD_HAS_ZLIB
    check_compression(".gz", "gzip", [](const std::string& text) {
        z_stream stream = {};
        EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                  Z_OK);
        std::string out(deflateBound(&stream, text.size()), '\0');
        std::string in = text;
        stream.next_in = reinterpret_cast<Bytef*>(in.data());
        stream.avail_in = static_cast<uInt>(in.size());
        stream.next_out = reinterpret_cast<Bytef*>(out.data());
        stream.avail_out = static_cast<uInt>(out.size());
        EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
        out.resize(out.size() - stream.avail_out);
        deflateEnd(&stream);
        return out;
    });
#else
    const TempFolder folder;
    const std::string path = folder.write("a.obj.gz", "\x1F\x8Brest");
    EXPECT_NE(message_of(path).find("install the package zlib1g-dev"), std::string::npos);
#endif
}

TEST(Stream, FilesShorterThanAMagicNumber) {
    const TempFolder folder;
    for (const std::string text : {"v", "\xFD", "\x1F", "7zXZ"}) {
        const std::string path = folder.write("a.obj", text);
        EXPECT_TRUE(message_of(path).starts_with(path + ":")) << message_of(path);
    }
}

TEST(Stream, UnreadableFile) {
    const TempFolder folder;
    const std::string path = folder.write("secret.obj", "v 0 0 0\n");
    std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
    std::filesystem::permissions(path, std::filesystem::perms::none);
    // Permissions do not bind root, so become someone else for a moment.
    constexpr uid_t kNobody = 65534;
    const bool root = geteuid() == 0;
    if (root && seteuid(kNobody) != 0) GTEST_SKIP() << "cannot give up root's rights";
    const std::string message = message_of(path);
    ASSERT_TRUE(!root || seteuid(0) == 0);
    EXPECT_EQ(message,
              path + ": cannot be opened: Permission denied; name a file that can be read");
}

TEST(Stream, FileThatFailsWhileItIsRead) {
    if (!std::filesystem::exists("/proc/self/mem")) GTEST_SKIP() << "needs Linux's /proc";
    EXPECT_EQ(message_of("/proc/self/mem"), "/proc/self/mem: cannot be read: Input/output error");
}

/// Hands out a text in pieces of one size.
class Pieces : public ByteSource {
public:
    Pieces(std::string_view text, std::size_t piece) : left_(text), piece_(piece) {}

    std::size_t read(char* to, std::size_t size) override {
        const std::size_t count = std::min({size, piece_, left_.size()});
        std::memcpy(to, left_.data(), count);
        left_.remove_prefix(count);
        return count;
    }

private:
    std::string_view left_;
    std::size_t piece_;
};

/// What the filter hands on, with the line of every statement in front of it.
std::string filtered(std::string_view text, std::size_t piece) {
    Pieces source(text, piece);
    std::string out;
    ObjFilter filter(source, [&](std::span<const std::int32_t> face) {
        out += std::to_string(filter.line()) + "|f";
        for (const std::int32_t index : face) out += " " + std::to_string(index);
        out += "\n";
    });
    std::istream stream(&filter);
    stream.exceptions(std::ios::badbit);
    try {
        while (stream.peek() != std::istream::traits_type::eof()) {
            std::string statement;
            std::getline(stream, statement);
            out += std::to_string(filter.line()) + "|" + statement + "\n";
        }
    } catch (const LineFault& fault) {
        out += std::to_string(fault.line()) + ": " + fault.what();
    }
    return out;
}

TEST(ObjFilter, HandsOnPlainStatements) {
    EXPECT_EQ(
        filtered("# a\nv 1 2 3 4 # b\n\nvn 1 x\n\tf 1/2/3\t4//5 -6 \\\n 7 #8\r\nfo 1 2 3", 999),
        "2|v 1 2 3\n5|f 1 4 -6 7\n7|f 1 2 3\n");
}

TEST(ObjFilter, DoesNotDependOnThePiecesThatTheFileComesIn) {
    const std::string texts[] = {
        "v 0 0 0\r\nv 1 0 0\r\rv 0 \\\r\n1 \\\n0\r\n\r\nf 1/1 \\\r2/2 3/3\r\n#x\\\nf 3 "
        "2 1",
        "v 0 0 0\rv 1 1 1\r\r\n\nf 1 1 1\r",
        "\n\r\n\rv 1 2 3\n\rv 4 5 6\r\n\\\r\nv 7 8 nan\n",
        "g a\n" + std::string("v 1 1 1\nv 1 1 1 \0\n", 18),
        "v 1 1 1\nf 1 1 1 \\",
    };
    for (const std::string& text : texts) {
        const std::string whole = filtered(text, text.size());
        EXPECT_FALSE(whole.empty());
        for (std::size_t piece = 1; piece != text.size(); ++piece) {
            EXPECT_EQ(filtered(text, piece), whole) << "pieces of " << piece;
        }
    }
}

TEST(ObjFilter, LineEndsMayFallOnTheEndOfABlock) {
    constexpr std::size_t kBlock = std::size_t{256} << 10;
    for (const std::string end : {"\n", "\r\n", "\r"}) {
        for (std::size_t shift = 0; shift != 40; ++shift) {
            const std::string text = std::string("#").append(kBlock - shift, 'x') + end +
                                     "v 1 2 3" + end + "f 1 1 \\" + end + "1" + end + "v 1 2" + end;
            EXPECT_EQ(filtered(text, text.size()),
                      "2|v 1 2 3\n3|f 1 1 1\n5: vertex of 2 numbers; write 3 (x y z), "
                      "4 (with a weight), 6 or 7 (with a colour)");
        }
    }
}

TEST(ObjFilter, RefusesALineWithoutEnd) {
    class Endless : public ByteSource {
        std::size_t read(char* to, std::size_t size) override {
            std::memset(to, 'x', size);
            return size;
        }
    };
    Endless source;
    ObjFilter filter(source, [](std::span<const std::int32_t>) {});
    try {
        (void)filter.sgetc();
        FAIL() << "read to its end";
    } catch (const LineFault& fault) {
        EXPECT_EQ(fault.line(), 1U);
        EXPECT_STREQ(fault.what(), "line of more than 64 MiB; this is no text in the OBJ format");
    }
}

}  // namespace
}  // namespace heapwood::scenes
