/// @file
/// Bytes of open files, all of them or an error: the system's calls may move fewer, or be
/// interrupted.
#pragma once

#include <cstdint>
#include <string_view>

namespace heapwood::platform {

/// Writes to a file or pipe, at its end or where it stands. @return false, if not all bytes
/// arrived; then errno says why.
bool write_all(int file, std::string_view bytes);

/// Writes to a place of a file, by any number of threads at once. @return as write_all().
bool write_at(int file, std::uint64_t offset, const void* from, std::uint64_t bytes);

/// Reads from a place of a file, by any number of threads at once. @return how many bytes were
/// read; if they are fewer, errno says why, or is 0 if the file ends there.
std::uint64_t read_at(int file, std::uint64_t offset, void* to, std::uint64_t bytes);

}  // namespace heapwood::platform
