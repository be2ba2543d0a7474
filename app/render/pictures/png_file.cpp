/// @file
/// PNG, by libpng.
#include "app/render/pictures/picture_file.h"

#if HEAPWOOD_HAS_PNG
#include <png.h>
#endif

namespace heapwood::app {

#if HEAPWOOD_HAS_PNG

bool has_png() {
    return true;
}

std::string png_file(const Picture& picture) {
    static_assert(sizeof(Colour) == 3);
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = picture.width;
    image.height = picture.height;
    image.format = PNG_FORMAT_RGB;
    std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
    png_alloc_size_t size = bytes.size();
    if (png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.pixels.data(), 0,
                                  nullptr) == 0) {
        throw std::runtime_error(std::string("libpng: ") + image.message);
    }
    bytes.resize(size);
    return bytes;
}

#else

bool has_png() {
    return false;
}

std::string png_file(const Picture&) {
    throw std::logic_error("this program was built without libpng");
}

#endif

}  // namespace heapwood::app
