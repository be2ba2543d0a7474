/// @file
/// Scene specifications, gen:NAME:TRIANGLES[:SEED].
#include "scenes/generators.h"
#include "tests/fuzz/sound_scene.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    constexpr std::uint64_t kMost = 3000;  // so that it takes milliseconds
    try {
        const auto request = scenes::parse_generator(std::string(fuzz::text_of(data, size)));
        if (request.triangles > kMost) return 0;
        const scenes::Scene scene = scenes::generate(request);
        fuzz::demand(scene.triangles.size() == request.triangles, "the number of triangles");
        fuzz::demand_sound(scene);
    } catch (const scenes::SceneError&) {
        // The right answer to what is no specification.
    }
    return 0;
}
