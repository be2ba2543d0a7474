#include "scenes/digest.h"

namespace heapwood::scenes {

std::uint64_t digest(const Scene& scene) {
    return digest_words(
        std::array<WordArray, 2>{{{scene.positions.data(), 3 * scene.positions.size()},
                                  {scene.triangles.data(), 3 * scene.triangles.size()}}});
}

}  // namespace heapwood::scenes
