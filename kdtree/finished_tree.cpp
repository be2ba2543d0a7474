#include "kdtree/finished_tree.h"

#include <cstring>
#include <utility>

#include "kdtree/rays/ray_batch.h"
#include "kdtree/rays/ray_in_place.cuh"
#include "kdtree/tree/canonical_copy.h"

namespace heapwood::kdtree {
namespace {

using allocators::Buffer;
using allocators::Place;

Buffer copied(const void* from, std::uint64_t bytes, Place place, void* stream) {
    Buffer to(place, bytes);
    if (bytes == 0) return to;
    if (place == Place::device) {
        detail::copy_on_gpu(to.data(), from, bytes, stream);
    } else {
        std::memcpy(to.data(), from, bytes);
    }
    return to;
}

}  // namespace

FinishedTree::FinishedTree(RayTree rays, const TreeInPlace& made, BuildResult result, void* stream)
    : rays_(std::move(rays)),
      result_(std::move(result)),
      nodes_(copied(made.nodes, made.node_end * sizeof(Node), rays_.place(), stream)),
      references_(copied(made.references, made.reference_end * sizeof(std::uint32_t), rays_.place(),
                         stream)),
      bounds_(made.bounds),
      scale_(made.scale) {
    wait(rays_, {.stream = stream});
}

Tree FinishedTree::to_host() const {
    return canonical_copy<Buffer>({nodes_, nodes_.size() / sizeof(Node), references_,
                                   references_.size() / sizeof(std::uint32_t), bounds_, scale_,
                                   rays_.place()});
}

}  // namespace heapwood::kdtree
