/// @file
/// The canonical form of a tree that lies on a GPU: a kernel for each level of each pass.
#include "kdtree/tree/canonical_gpu.h"

#include <cuda_runtime.h>

#include <cub/device/device_for.cuh>

#include "allocators/memory/buffer.h"
#include "allocators/memory/stream_scope.h"
#include "allocators/platform/cuda_runtime.h"
#include "kdtree/tree/canonical_order.h"

namespace heapwood::kdtree::detail {
namespace {

using allocators::ArrayPool;
using allocators::Buffer;
using allocators::Place;

struct Kernels {
    template <class Step>
    void for_each(std::uint32_t n, const Step& step) const {
        const auto stream = static_cast<cudaStream_t>(allocators::StreamScope::stream());
        platform::check_cuda(cub::DeviceFor::Bulk(n, step, stream), "ordering the nodes of a tree");
    }
};

std::optional<Tree> ordered(const UnorderedTree& made) {
    Kernels kernels;
    ArrayPool pool(Place::device, ArrayPool::Keep::nothing);
    CanonicalOrder order(kernels, pool, made);
    if (!order.measure()) return {};
    Tree tree{std::vector<Node>(order.nodes()), std::vector<std::uint32_t>(order.references()),
              made.bounds};
    const Buffer nodes(Place::device, tree.nodes.size() * sizeof(Node));
    const Buffer references(Place::device, tree.references.size() * sizeof(std::uint32_t));
    const bool unsorted = order.put(nodes.as<Node>(), references.as<std::uint32_t>());
    nodes.read(0, tree.nodes.data(), nodes.size());
    references.read(0, tree.references.data(), references.size());
    if (unsorted) sort_long_leaves(tree.nodes.data(), tree.nodes.size(), tree.references.data(), 0);
    return tree;
}

}  // namespace

std::optional<Tree> canonical_on_gpu(const UnorderedTree& made) {
    try {
        return ordered(made);
    } catch (const allocators::BufferError&) {
        return {};  // the host has memory of its own
    }
}

}  // namespace heapwood::kdtree::detail
