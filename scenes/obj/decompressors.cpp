#include "scenes/obj/decompressors.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "scenes/scene.h"

#if HEAPWOOD_HAS_LZMA
#include <lzma.h>
#endif
#if HEAPWOOD_HAS_ZLIB
#include <zlib.h>
#endif

namespace heapwood::scenes {
namespace {

[[maybe_unused]] constexpr std::size_t kPackedBytes = std::size_t{64} << 10;

#if HEAPWOOD_HAS_LZMA
/// More than `xz -9` needs to decompress (65 MiB); a damaged header cannot ask for more.
constexpr std::uint64_t kXzMemoryLimit = std::uint64_t{256} << 20;

class XzSource : public ByteSource {
public:
    XzSource(std::unique_ptr<ByteSource> packed, std::string path)
        : packed_(std::move(packed)), path_(std::move(path)), input_(kPackedBytes) {
        if (lzma_stream_decoder(&stream_, kXzMemoryLimit, LZMA_CONCATENATED) != LZMA_OK) {
            throw SceneError(path_ + ": not enough memory to decompress it");
        }
    }
    ~XzSource() override { lzma_end(&stream_); }
    XzSource(const XzSource&) = delete;
    XzSource& operator=(const XzSource&) = delete;

    std::size_t read(char* to, std::size_t size) override {
        stream_.next_out = reinterpret_cast<std::uint8_t*>(to);
        stream_.avail_out = size;
        while (!finished_ && stream_.avail_out == size) {
            if (stream_.avail_in == 0 && action_ == LZMA_RUN) {
                stream_.avail_in = packed_->read(input_.data(), input_.size());
                stream_.next_in = reinterpret_cast<const std::uint8_t*>(input_.data());
                if (stream_.avail_in == 0) action_ = LZMA_FINISH;
            }
            check(lzma_code(&stream_, action_));
        }
        return size - stream_.avail_out;
    }

private:
    void check(lzma_ret result) {
        switch (result) {
            case LZMA_OK:
                return;
            case LZMA_STREAM_END:
                finished_ = true;
                return;
            case LZMA_BUF_ERROR:
                throw SceneError(path_ + ": the xz data ends early; fetch the file again");
            case LZMA_MEMLIMIT_ERROR:
                throw SceneError(path_ + ": needs more than 256 MiB to decompress; unpack it");
            case LZMA_MEM_ERROR:
                throw SceneError(path_ + ": not enough memory to decompress it");
            default:
                throw SceneError(path_ + ": the xz data is damaged; fetch the file again");
        }
    }

    std::unique_ptr<ByteSource> packed_;
    std::string path_;
    std::vector<char> input_;
    lzma_stream stream_ = LZMA_STREAM_INIT;
    lzma_action action_ = LZMA_RUN;
    bool finished_ = false;
};
#endif

#if HEAPWOOD_HAS_ZLIB
class GzipSource : public ByteSource {
public:
    GzipSource(std::unique_ptr<ByteSource> packed, std::string path)
        : packed_(std::move(packed)), path_(std::move(path)), input_(kPackedBytes) {
        constexpr int kGzipOnly = 16 + MAX_WBITS;
        if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
            throw SceneError(path_ + ": not enough memory to decompress it");
        }
    }
    ~GzipSource() override { inflateEnd(&stream_); }
    GzipSource(const GzipSource&) = delete;
    GzipSource& operator=(const GzipSource&) = delete;

    std::size_t read(char* to, std::size_t size) override {
        const uInt wanted =
            static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
        stream_.next_out = reinterpret_cast<Bytef*>(to);
        stream_.avail_out = wanted;
        while (stream_.avail_out == wanted) {
            if (stream_.avail_in == 0) {
                stream_.avail_in = static_cast<uInt>(packed_->read(input_.data(), input_.size()));
                stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
                if (stream_.avail_in == 0) {
                    if (between_members_) break;
                    throw SceneError(path_ + ": the gzip data ends early; fetch the file again");
                }
            }
            between_members_ = false;
            const int result = inflate(&stream_, Z_NO_FLUSH);
            if (result == Z_STREAM_END) {
                inflateReset(&stream_);
                between_members_ = true;
            } else if (result != Z_OK) {
                throw SceneError(path_ + ": the gzip data is damaged; fetch the file again");
            }
        }
        return wanted - stream_.avail_out;
    }

private:
    std::unique_ptr<ByteSource> packed_;
    std::string path_;
    std::vector<char> input_;
    z_stream stream_ = {};
    bool between_members_ = false;
};
#endif

[[maybe_unused]] [[noreturn]] void no_library(const std::string& path, const char* format,
                                              const char* package) {
    throw SceneError(path + ": this build cannot read " + format +
                     "; unpack the file, or install the package " + package +
                     " and configure and build again");
}

}  // namespace

std::unique_ptr<ByteSource> decompress_xz([[maybe_unused]] std::unique_ptr<ByteSource> packed,
                                          std::string path) {
#if HEAPWOOD_HAS_LZMA
    return std::make_unique<XzSource>(std::move(packed), std::move(path));
#else
    no_library(path, "xz", "liblzma-dev");
#endif
}

std::unique_ptr<ByteSource> decompress_gzip([[maybe_unused]] std::unique_ptr<ByteSource> packed,
                                            std::string path) {
#if HEAPWOOD_HAS_ZLIB
    return std::make_unique<GzipSource>(std::move(packed), std::move(path));
#else
    no_library(path, "gzip", "zlib1g-dev");
#endif
}

}  // namespace heapwood::scenes
