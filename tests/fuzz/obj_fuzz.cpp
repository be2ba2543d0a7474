/// @file
/// OBJ text, as a whole and in pieces.
#include "scenes/obj/obj_loader.h"
#include "tests/fuzz/sound_scene.h"
#include "tests/scenes/obj/read_outcome.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    const fuzz::InputFile file(fuzz::text_of(data, size));
    try {
        fuzz::demand_sound(scenes::load_obj(file.path()));
    } catch (const scenes::SceneError&) {
        // The right answer to what is no scene.
    }
    constexpr unsigned kPieces = 5;
    fuzz::demand(scenes::read_outcome(file.path(), 1, {.piece_bytes = size / kPieces + 1}) ==
                     scenes::read_outcome(file.path(), 1, {.piece_bytes = size + 1}),
                 "pieces that are not the whole");
    return 0;
}
