#include "app/distributed/payload.h"

#include <bit>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/file_bytes.h"

namespace heapwood::app {
namespace {

constexpr std::size_t kBlock = PayloadChecksum::kBlock;
constexpr std::size_t kTogether = 65536;  ///< bytes that are worth a call of the system

using Block = std::array<std::uint64_t, kBlock / sizeof(std::uint64_t)>;

/// One step of FNV-1a, with a rotation: a product alone moves no bit down.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    return std::rotl((hash ^ word) * 0x100000001B3ULL, 29);
}

}  // namespace

void PayloadChecksum::add(const void* blocks, std::size_t count) {
    const auto* at = static_cast<const char*>(blocks);
    std::array<std::uint64_t, 4> lanes = lanes_;  // in registers
    for (std::size_t i = 0; i < count; ++i, at += kBlock) {
        Block block;
        std::memcpy(block.data(), at, kBlock);
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            lanes[lane] = mixed(lanes[lane], block[lane]);
        }
    }
    lanes_ = lanes;
}

std::uint64_t PayloadChecksum::value() const {
    std::uint64_t hash = 0;
    for (const std::uint64_t lane : lanes_) hash = mixed(hash, lane);
    return hash;
}

PayloadWriter::PayloadWriter(std::filesystem::path path)
    : path_(std::move(path)), file_(path_), error_(file_.error()) {}

void PayloadWriter::put(const void* blocks, std::size_t count) {
    checksum_.add(blocks, count);
    const std::string_view bytes(static_cast<const char*>(blocks), count * kBlock);
    if (small_.size() + bytes.size() > kTogether) flush();
    if (bytes.size() > kTogether) {
        write(bytes);
    } else {
        small_ += bytes;
    }
}

void PayloadWriter::flush() {
    write(small_);
    small_.clear();
}

void PayloadWriter::write(std::string_view bytes) {
    if (error_ == 0 && !platform::write_all(file_.descriptor(), bytes)) error_ = errno;
}

void PayloadWriter::add_bytes(const void* items, std::uint64_t count, std::uint64_t size) {
    const Block head{count, size};
    put(&head, 1);
    const std::uint64_t bytes = count * size;
    if (bytes == 0) return;
    put(items, bytes / kBlock);
    if (const std::uint64_t rest = bytes % kBlock; rest != 0) {
        Block last{};
        std::memcpy(last.data(), static_cast<const char*>(items) + (bytes - rest), rest);
        put(&last, 1);
    }
}

void PayloadWriter::finish() {
    const Block last{checksum_.value()};
    put(&last, 1);
    flush();
    if (error_ == 0 && !file_.replace()) error_ = errno;
    if (error_ != 0) {
        throw std::runtime_error(path_.string() +
                                 ": cannot be written in full: " + std::strerror(error_));
    }
}

PayloadReader::PayloadReader(std::filesystem::path path) : path_(std::move(path)) {
    std::ifstream file(path_, std::ios::binary);
    if (!file) fail("is missing");
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path_, error);
    if (error || size < kBlock || size % kBlock != 0) fail("was cut off");
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
    file.read(reinterpret_cast<char*>(bytes_.get()), static_cast<std::streamsize>(size));
    size_ = size - kBlock;
    PayloadChecksum checksum;
    checksum.add(bytes_.get(), size_ / kBlock);
    const Block last{checksum.value()};
    if (!file || std::memcmp(bytes_.get() + size_, last.data(), kBlock) != 0) {
        fail("is not as it was written");
    }
}

void PayloadReader::fail(const char* what) const {
    throw std::runtime_error(path_.string() + ": a file of this build " + what +
                             "; run the build again");
}

std::uint64_t PayloadReader::count(std::uint64_t size) {
    Block head;
    std::memcpy(head.data(), take_bytes(kBlock), kBlock);
    if (head[1] != size || head[0] > (size_ - at_) / size) fail("has other contents");
    return head[0];
}

/// The next bytes; goes on at the block behind them.
const std::byte* PayloadReader::take_bytes(std::uint64_t bytes) {
    const auto taken = platform::round_up<std::uint64_t>(bytes, kBlock);
    if (taken > size_ - at_) fail("has other contents");
    return bytes_.get() + std::exchange(at_, at_ + taken);
}

}  // namespace heapwood::app
