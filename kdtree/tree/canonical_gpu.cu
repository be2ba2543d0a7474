/// @file
/// The canonical form of a tree that lies on a GPU: a kernel for each level of each pass.
#include "kdtree/tree/canonical_gpu.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "allocators/memory/buffer.h"
#include "allocators/memory/stream_scope.h"
#include "allocators/platform/cuda_runtime.h"
#include "allocators/platform/for_chunks.h"
#include "kdtree/tree/canonical_steps.cuh"

namespace heapwood::kdtree::detail {
namespace {

using allocators::Buffer;
using allocators::Place;

constexpr unsigned kThreads = 256;

enum class Pass { list, count, put };

template <Pass kPass>
__global__ void __launch_bounds__(kThreads)
    do_level(const __grid_constant__ CanonicalWork work, std::uint32_t level) {
    const std::uint32_t end = work.end(level);
    const std::uint32_t stride = gridDim.x * kThreads;
    for (std::uint64_t i = work.begin(level) + std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
         i < end; i += stride) {
        const auto pair = static_cast<std::uint32_t>(i);
        if constexpr (kPass == Pass::list) work.list_below(level, pair);
        if constexpr (kPass == Pass::count) work.count(pair);
        if constexpr (kPass == Pass::put) work.put(pair);
    }
}

/// Buffers of one call, and its kernels.
class Ordering {
public:
    explicit Ordering(const TreeOnGpu& made)
        : made_(made),
          capacity_(made.node_end / 2 + 1),
          state_(Place::device, sizeof(ListState)),
          placed_(Place::device, (made.node_end / 32 + 1) * sizeof(std::uint32_t)),
          list_(Place::device, capacity_ * sizeof(ListedPair)),
          work_{.nodes = made.nodes,
                .node_end = made.node_end,
                .references = made.references,
                .reference_end = made.reference_end,
                .scale = made.scale,
                .state = state_.as<ListState>(),
                .placed = placed_.as<std::uint32_t>(),
                .list = list_.as<ListedPair>(),
                .to_nodes = nullptr,
                .to_references = nullptr} {}

    std::optional<Tree> tree() {
        const ListState start;
        state_.write(0, &start, sizeof start);
        placed_.zero();
        const ListedPair root{};
        list_.write(0, &root, sizeof root);
        for (std::uint32_t level = 0; level < ListState::kLevels; ++level)
            launch<Pass::list>(level);
        ListState state = this->state();
        if (state.fault != 0) return {};
        const auto levels = static_cast<std::uint32_t>(
            std::ranges::find(state.pairs, std::uint32_t{0}) - std::begin(state.pairs));

        for (std::uint32_t level = levels; level-- > 0;) launch<Pass::count>(level);
        ListedPair all;
        list_.read(0, &all, sizeof all);
        if (this->state().fault != 0) return {};

        Tree tree{std::vector<Node>(2 * std::size_t{all.pairs} - 1),
                  std::vector<std::uint32_t>(all.references), made_.bounds};
        const Buffer nodes(Place::device, tree.nodes.size() * sizeof(Node));
        const Buffer references(Place::device, tree.references.size() * sizeof(std::uint32_t));
        work_.to_nodes = nodes.as<Node>();
        work_.to_references = references.as<std::uint32_t>();
        for (std::uint32_t level = 0; level < levels; ++level) launch<Pass::put>(level);
        nodes.read(0, tree.nodes.data(), nodes.size());
        references.read(0, tree.references.data(), references.size());
        if (this->state().long_leaves != 0) sort_long_leaves(tree);
        return tree;
    }

private:
    template <Pass kPass>
    void launch(std::uint32_t level) const {
        // A level has at most twice as many pairs as the one above it.
        const std::uint64_t most = std::min(capacity_, std::uint64_t{1} << std::min(level, 40U));
        const std::uint64_t blocks = std::min<std::uint64_t>(
            (most + kThreads - 1) / kThreads, platform::resident_blocks(do_level<kPass>, kThreads));
        do_level<kPass>
            <<<static_cast<unsigned>(blocks), kThreads, 0,
               static_cast<cudaStream_t>(allocators::StreamScope::stream())>>>(work_, level);
        platform::check_cuda(cudaGetLastError(), "ordering the nodes of a tree");
    }
    ListState state() const {
        ListState state;
        state_.read(0, &state, sizeof state);
        return state;
    }
    static void sort_long_leaves(Tree& tree) {
        constexpr std::uint64_t kChunk = std::uint64_t{1} << 15;
        platform::for_chunks(
            tree.nodes.size(), kChunk, 0, [&](std::uint64_t begin, std::uint64_t end) {
                for (std::uint64_t i = begin; i < end; ++i) {
                    const Node node = tree.nodes[i];
                    if (!node.is_leaf() || node.count() <= CanonicalWork::kMostSorted) continue;
                    std::uint32_t* const first = tree.references.data() + node.first();
                    std::sort(first, first + node.count());
                }
            });
    }

    TreeOnGpu made_;
    std::uint64_t capacity_;
    Buffer state_;
    Buffer placed_;
    Buffer list_;
    CanonicalWork work_;
};

}  // namespace

std::optional<Tree> canonical_on_gpu(const TreeOnGpu& made) {
    if (made.node_end == 0) return {};
    try {
        return Ordering(made).tree();
    } catch (const allocators::BufferError&) {
        return {};  // the host has memory of its own
    }
}

}  // namespace heapwood::kdtree::detail
