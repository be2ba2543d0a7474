/// @file
/// EXR, by OpenEXR.
#include "app/render/pictures/picture_file.h"

#if HEAPWOOD_HAS_EXR
#include <ImfChannelList.h>
#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfOutputFile.h>
#include <ImfStdIO.h>
#endif

namespace heapwood::app {

#if HEAPWOOD_HAS_EXR

bool has_exr() {
    return true;
}

std::string exr_file(const Film& film, Mode mode) {
    Imf::Header header(static_cast<int>(film.width), static_cast<int>(film.height));
    Imf::FrameBuffer pixels;
    const auto add = [&](const char* name, const float& first) {
        header.channels().insert(name, Imf::Channel(Imf::FLOAT));
        // OpenEXR reads through a pointer that is not to const.
        pixels.insert(name,
                      Imf::Slice(Imf::FLOAT, reinterpret_cast<char*>(const_cast<float*>(&first)),
                                 sizeof(Shade), sizeof(Shade) * film.width));
    };
    const Shade& first = film.pixels.front();
    int number = 0;
    for (const char* name : facts_of(mode).channels) {
        if (name != nullptr) add(name, first.value[number++]);
    }
    add("A", first.weight);
    Imf::StdOSStream stream;
    {
        Imf::OutputFile file(stream, header, 0);
        file.setFrameBuffer(pixels);
        file.writePixels(static_cast<int>(film.height));
    }  // which writes the table of rows
    return stream.str();
}

#else

bool has_exr() {
    return false;
}

std::string exr_file(const Film&, Mode) {
    throw std::logic_error("this program was built without OpenEXR");
}

#endif

}  // namespace heapwood::app
