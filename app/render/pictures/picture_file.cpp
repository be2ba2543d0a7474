#include "app/render/pictures/picture_file.h"

#include <filesystem>

#include "app/base/exit_code.h"

namespace heapwood::app {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw UsageError("cannot write the picture '" + path + "': " + why);
}

}  // namespace

PictureFormat picture_format(const std::string& path) {
    if (path.empty()) throw UsageError("say where the picture goes: --out FILE.png, or FILE.exr");
    const std::string ending = std::filesystem::path(path).extension().string();
    if (ending == ".png") {
        if (!has_png()) {
            refuse(path,
                   "this program was built without libpng; install libpng-dev, build it "
                   "anew, or write .exr");
        }
        return PictureFormat::png;
    }
    if (ending == ".exr") {
        if (!has_exr()) {
            refuse(path,
                   "this program was built without OpenEXR; install libopenexr-dev, build it "
                   "anew with -DHEAPWOOD_OPENEXR=ON, or write .png");
        }
        return PictureFormat::exr;
    }
    refuse(path, "the ending says the format: .png or .exr");
}

}  // namespace heapwood::app
