/// @file
/// Tree files: as they are, and again with counts, checksum and digests that fit, as the author of
/// a hostile file would write them. A tree that is read is sound enough for rays.
#include "kdtree/tree/tree_file.h"

#include <limits>

#include "kdtree/rays/ray_batch.h"
#include "tests/fuzz/sound_scene.h"
#include "tests/kdtree/tree/tree_file_bytes.h"

namespace {

using namespace heapwood;

void read(std::string_view bytes) {
    const fuzz::InputFile file(bytes);
    try {
        const kdtree::StoredTree stored = kdtree::load_tree(file.path());
        fuzz::demand_sound(stored.scene);
        const kdtree::RayTree tree(stored.tree, stored.scene);
        const glm::vec3 centre = 0.5F * (stored.scene.bounds.lo + stored.scene.bounds.hi);
        const glm::vec3 corner = stored.scene.positions.front();
        for (const glm::vec3& way : {glm::vec3(1, 0, 0), glm::vec3(-3, 2, 1), corner - centre}) {
            for (const glm::vec3& origin : {centre, corner, stored.scene.bounds.lo - way}) {
                const kdtree::Ray ray{origin, way, 0, std::numeric_limits<float>::infinity()};
                (void)kdtree::all_hits(tree, &ray, 1, {.threads = 1});
            }
        }
    } catch (const kdtree::TreeFileError&) {
        // The right answer to what is no tree.
    }
}

/// The counts are made small, for the file is made as long as they say.
std::string fitted(std::string bytes) {
    using namespace kdtree::tests;
    if (bytes.size() < kHeader) return bytes;
    std::size_t size = kHeader;
    const auto section = [&](std::size_t count, std::size_t item) {
        const auto items = get<std::uint64_t>(bytes, count) % 512;
        put(bytes, count, items);
        size += rounded(items * item);
    };
    section(kNodes, 8);
    section(kReferences, 4);
    section(kTriangles, 12);
    section(kPositions, 12);
    bytes.resize(size);
    put(bytes, kBytes, std::uint64_t{size});
    seal_all(bytes);
    return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(fuzz::text_of(data, size));
    read(bytes);
    read(fitted(bytes));
    return 0;
}
