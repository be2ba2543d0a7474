#include "allocators/platform/file_bytes.h"

#include <unistd.h>

#include <cerrno>

namespace heapwood::platform {
namespace {

/// Calls move(done), which moves some of the bytes from that one on, until all are done.
/// @return how many are; if they are fewer, errno says why, or is 0 if there are no more.
template <class Move>
std::uint64_t moved(std::uint64_t bytes, const Move& move) {
    std::uint64_t done = 0;
    while (done < bytes) {
        const ssize_t n = move(done);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = 0;
        if (n <= 0) break;
        done += static_cast<std::uint64_t>(n);
    }
    return done;
}

}  // namespace

bool write_all(int file, std::string_view bytes) {
    return moved(bytes.size(), [&](std::uint64_t done) {
               return ::write(file, bytes.data() + done, bytes.size() - done);
           }) == bytes.size();
}

bool write_at(int file, std::uint64_t offset, const void* from, std::uint64_t bytes) {
    return moved(bytes, [&](std::uint64_t done) {
               return pwrite(file, static_cast<const char*>(from) + done, bytes - done,
                             static_cast<off_t>(offset + done));
           }) == bytes;
}

std::uint64_t read_at(int file, std::uint64_t offset, void* to, std::uint64_t bytes) {
    return moved(bytes, [&](std::uint64_t done) {
        return pread(file, static_cast<char*>(to) + done, bytes - done,
                     static_cast<off_t>(offset + done));
    });
}

}  // namespace heapwood::platform
