#include "tests/kdtree/plain_tree.h"

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "allocators/atomicmalloc.cuh"
#include "kdtree/builder.h"

namespace heapwood::kdtree::tests {

Tree plain_tree(const scenes::Scene& scene, const BuildConfig& config) {
    RunConfig run;
    run.pool_bytes = (std::uint64_t{1} << 30) + 200 * root_array_bytes(scene.triangles.size());
    run.threads = 1;
    BuildConfig all = config;
    all.small_arrays = true;
    BuildResult result = build_on_cpu<allocators::AtomicMalloc>(scene, all, run);
    if (result.status != Status::done) throw std::runtime_error(scene.path + ": " + result.message);
    return std::move(result.tree);
}

std::uint64_t divided_nodes(const Tree& tree) {
    std::uint64_t divided = 0;
    for (const Node& node : tree.nodes) {
        const auto empty = [&](std::uint32_t child) {
            return tree.nodes[child].is_leaf() && tree.nodes[child].count() == 0;
        };
        if (!node.is_leaf() && !empty(node.child()) && !empty(node.child() + 1)) ++divided;
    }
    return divided;
}

}  // namespace heapwood::kdtree::tests
