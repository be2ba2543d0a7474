#include "scenes/digest.h"

#include <bit>

namespace heapwood::scenes {

std::uint64_t digest(const Scene& scene) {
    Fnv fnv;
    for (const glm::vec3& p : scene.positions) {
        fnv.add(std::bit_cast<std::uint32_t>(p.x));
        fnv.add(std::bit_cast<std::uint32_t>(p.y));
        fnv.add(std::bit_cast<std::uint32_t>(p.z));
    }
    for (const glm::uvec3& t : scene.triangles) {
        fnv.add(t.x);
        fnv.add(t.y);
        fnv.add(t.z);
    }
    return fnv.value();
}

}  // namespace heapwood::scenes
