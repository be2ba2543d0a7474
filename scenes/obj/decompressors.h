/// @file
/// xz and gzip as byte sources on top of another one.
#pragma once

#include <memory>
#include <string>

#include "scenes/obj/byte_source.h"

namespace heapwood::scenes {

/// The bytes of an xz file (also several, concatenated), by liblzma. `path` is for messages.
/// @throws SceneError if this build has no liblzma.
std::unique_ptr<ByteSource> decompress_xz(std::unique_ptr<ByteSource> packed, std::string path);

/// The bytes of a gzip file (also several, concatenated), by zlib. `path` is for messages.
/// @throws SceneError if this build has no zlib.
std::unique_ptr<ByteSource> decompress_gzip(std::unique_ptr<ByteSource> packed, std::string path);

}  // namespace heapwood::scenes
