/// @file
/// What a fuzzer calls, and its input as a file.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

/// Reads one input. libFuzzer calls it with inputs that it makes, replay.cpp with those of the
/// corpus. @return 0
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace heapwood::fuzz {

/// The input as text.
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// A file in memory, as long as the object lives.
class InputFile {
public:
    explicit InputFile(std::string_view bytes) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
        while (!bytes.empty()) {
            const ssize_t n = write(descriptor_, bytes.data(), bytes.size());
            if (n <= 0) throw std::runtime_error("no file in memory");
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;
    ~InputFile() { close(descriptor_); }

    /// Opens the file anew, from its beginning.
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

private:
    int descriptor_;
};

/// Ends the process, which a fuzzer takes for a finding, unless `right`.
inline void demand(bool right, const char* what) {
    if (!right) throw std::logic_error(what);
}

}  // namespace heapwood::fuzz
