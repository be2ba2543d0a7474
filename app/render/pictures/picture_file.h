/// @file
/// Pictures as files.
#pragma once

#include <stdexcept>
#include <string>

#include "app/render/pictures/picture.h"

namespace heapwood::app {

/// What a picture's file is.
enum class PictureFormat {
    png,  ///< colours of 8 bits, as they are to be seen
    exr,  ///< what the pixels show, in floats
};

/// The format that a file's ending asks for. @throws UsageError if there is none, or this program
/// was built without it.
PictureFormat picture_format(const std::string& path);

/// The bytes of a file, which depend on nothing but the arguments.
/// @throws std::runtime_error with the library's reason.
std::string png_file(const Picture& picture);

/// Channels: R, G, B for light and normals; Y for ambient occlusion and what leaves have; Z for
/// depth; nodes, leaves and tests for cost. A is the part of a pixel's samples that meet the
/// scene.
std::string exr_file(const Film& film, Mode mode);

/// Whether this program has the format.
bool has_png();
bool has_exr();

}  // namespace heapwood::app
