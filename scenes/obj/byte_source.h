/// @file
/// A scene file as a stream of plain bytes, whether it is stored plain, xz- or gzip-compressed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace heapwood::scenes {

/// How a tree file begins, which is no scene but has one (kdtree/tree/tree_file.h).
inline constexpr std::string_view kTreeFileBegin = "\x89KDT";

/// The remedy for a tree that comes through a pipe.
inline constexpr const char* kTreeThroughPipe =
    "a tree is read from a regular file, not through a pipe: write it to a file, and name that";

/// The byte order mark of UTF-8, with which some editors begin a text. Every reader of text skips
/// it.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Bytes from first to last, once.
class ByteSource {
public:
    virtual ~ByteSource() = default;

    /// Writes up to `size` (at least one) bytes to `to` and returns how many: 0 only at the end.
    /// @throws SceneError that names the file, if it cannot be read or its compression is damaged.
    virtual std::size_t read(char* to, std::size_t size) = 0;
};

/// Opens a file. What is inside decides about decompression, not the name, so that a compressed
/// file named `.obj` is read too; a plain file named `.xz` or `.gz` is an error.
/// @throws SceneError for a missing, empty or unreadable file, a directory, a tree file, and a
/// compression that this build has no library for.
std::unique_ptr<ByteSource> open_source(const std::string& path);

}  // namespace heapwood::scenes
