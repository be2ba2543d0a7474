/// @file
/// Lists of scenes. Those of generated scenes alone are loaded, as a whole and in shares; files are
/// other targets.
#include "scenes/scene_list.h"

#include <algorithm>
#include <filesystem>

#include "scenes/generators.h"
#include "scenes/pieces.h"
#include "scenes/scene.h"
#include "tests/fuzz/sound_scene.h"

namespace {

using namespace heapwood;

/// Whether all are generated, and few triangles together.
bool is_small(const std::vector<scenes::ListedScene>& all) {
    constexpr std::uint64_t kMost = 2000;
    std::uint64_t triangles = 0;
    for (const scenes::ListedScene& listed : all) {
        if (!scenes::is_generator(listed.name)) return false;
        triangles += std::min(kMost + 1, scenes::parse_generator(listed.name).triangles);
    }
    return triangles <= kMost;
}

/// The whole scene is sound, and its shares are it.
void load(const std::string& path) {
    constexpr std::uint32_t kShares = 3;
    const scenes::Scene whole = scenes::load(path);
    fuzz::demand_sound(whole);
    scenes::SceneFacts facts;
    for (std::uint32_t i = 0; i < kShares; ++i) {
        facts.append(scenes::load_share(path, i, kShares).facts);
    }
    fuzz::demand(facts.hash == scenes::facts_of(whole).hash, "the shares of a list");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::InputFile file(fuzz::text_of(data, size));
    const std::filesystem::path link = std::filesystem::temp_directory_path() /
                                       ("heapwood-fuzz-" + std::to_string(getpid()) + ".list");
    std::filesystem::remove(link);
    std::filesystem::create_symlink(file.path(), link);
    try {
        const auto all = scenes::read_list(link.string());
        fuzz::demand(!all.empty(), "a list of nothing");
        for (const scenes::ListedScene& listed : all) {
            fuzz::demand(
                !listed.name.empty() && !scenes::is_list(listed.name) && !listed.where.empty(),
                "a scene of a list");
        }
        if (is_small(all)) load(link.string());
    } catch (const scenes::SceneError&) {
        // The right answer to what is no list.
    }
    std::filesystem::remove(link);
    return 0;
}
