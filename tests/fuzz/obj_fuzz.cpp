/// @file
/// OBJ text.
#include "scenes/obj/obj_loader.h"
#include "tests/fuzz/sound_scene.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    const fuzz::InputFile file(fuzz::text_of(data, size));
    try {
        fuzz::demand_sound(scenes::load_obj(file.path()));
    } catch (const scenes::SceneError&) {
        // The right answer to what is no scene.
    }
    return 0;
}
