/// @file
/// Lists of scenes; the scenes themselves are other targets.
#include "scenes/scene_list.h"

#include <algorithm>
#include <cstdlib>

#include "scenes/scene.h"
#include "tests/fuzz/input_file.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    const fuzz::InputFile file(fuzz::text_of(data, size));
    try {
        const auto scenes = scenes::read_list(file.path());
        const bool sound =
            !scenes.empty() && std::ranges::all_of(scenes, [](const scenes::ListedScene& listed) {
                return !listed.name.empty() && !scenes::is_list(listed.name) &&
                       !listed.where.empty();
            });
        if (!sound) std::abort();
    } catch (const scenes::SceneError&) {
        // The right answer to what is no list.
    }
    return 0;
}
