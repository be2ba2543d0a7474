#include "app/forest/payload.h"

#include <algorithm>
#include <fstream>

#include "scenes/digest.h"

namespace heapwood::app {
namespace {

/// Of bytes whose number is a multiple of four.
std::uint64_t checksum(const std::string& bytes) {
    scenes::Fnv hash;
    std::uint32_t word;
    for (std::uint64_t i = 0; i + sizeof(word) <= bytes.size(); i += sizeof(word)) {
        std::memcpy(&word, bytes.data() + i, sizeof(word));
        hash.add(word);
    }
    hash.add(static_cast<std::uint32_t>(bytes.size()));
    return hash.value();
}

std::uint64_t rounded(std::uint64_t bytes) {
    return (bytes + 3) / 4 * 4;
}

}  // namespace

void PayloadWriter::add_bytes(const void* items, std::uint64_t count, std::uint64_t size) {
    for (const std::uint64_t number : {count, size}) {
        bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    if (count > 0) bytes_.append(static_cast<const char*>(items), count * size);
    bytes_.append(rounded(count * size) - count * size, '\0');
}

void PayloadWriter::write(const std::filesystem::path& path) const {
    const std::uint64_t sum = checksum(bytes_);
    const std::filesystem::path fresh = path.string() + ".new";
    std::ofstream file(fresh, std::ios::trunc | std::ios::binary);
    file.write(reinterpret_cast<const char*>(&sum), sizeof(sum));
    file << bytes_ << std::flush;
    file.close();
    std::error_code error;
    if (file) std::filesystem::rename(fresh, path, error);
    if (!file || error) throw std::runtime_error(path.string() + ": cannot be written in full");
}

PayloadReader::PayloadReader(const std::filesystem::path& path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("is missing");
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    std::uint64_t sum = 0;
    if (error || size < sizeof(sum)) fail("was cut off");
    bytes_.resize(size - sizeof(sum));
    file.read(reinterpret_cast<char*>(&sum), sizeof(sum));
    file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    if (!file || checksum(bytes_) != sum) fail("is not as it was written");
}

void PayloadReader::fail(const char* what) const {
    throw std::runtime_error(path_.string() + ": a file of this build " + what +
                             "; run the build again");
}

std::uint64_t PayloadReader::count(std::uint64_t size) {
    std::uint64_t numbers[2];
    take_bytes(numbers, sizeof(numbers));
    const std::uint64_t left = bytes_.size() - at_;
    if (numbers[1] != size || numbers[0] > left / size) fail("has other contents");
    return numbers[0];
}

void PayloadReader::take_bytes(void* to, std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) fail("has other contents");
    std::memcpy(to, bytes_.data() + at_, bytes);
    at_ = std::min<std::uint64_t>(at_ + rounded(bytes), bytes_.size());
}

}  // namespace heapwood::app
