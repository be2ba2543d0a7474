/// @file
/// Lays a tree out for rays.
#include "kdtree/rays/ray_tree.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/memory/large_pages.h"
#include "allocators/memory/stream_scope.h"
#include "allocators/platform/for_chunks.h"
#include "allocators/platform/threads.h"
#include "kdtree/config.h"
#include "kdtree/rays/ray_in_place.cuh"

namespace heapwood::kdtree {
namespace {

using allocators::Buffer;
using allocators::Place;

/// Nodes, or references, that a thread takes at a time.
constexpr std::uint64_t kChunk = 1 << 14;

[[noreturn]] void refuse(std::size_t node, const std::string& what) {
    throw std::runtime_error("the tree cannot be laid out for rays: node " + std::to_string(node) +
                             " " + what);
}

/// Checks all that a walk relies on: children come in pairs after their parent, so that a walk
/// ends; no path is longer than the walk's stack; references and triangles exist.
void check(const Tree& tree, const scenes::Scene& scene) {
    const std::size_t nodes = tree.nodes.size();
    if ((nodes + 1) / 2 >= RayNode::kLimit) refuse(nodes - 1, "is one too many");
    std::vector<std::uint8_t> depth(nodes, 0);
    for (std::size_t i = 0; i < nodes; ++i) {
        const Node node = tree.nodes[i];
        if (node.is_leaf()) {
            if (std::uint64_t{node.first()} + node.count() > tree.references.size()) {
                refuse(i, "has references beyond the last");
            }
            if (node.count() >= RayNode::kLimit) refuse(i, "has too many references");
            continue;
        }
        if (node.child() <= i || node.child() % 2 == 0 || node.child() + 1 >= nodes) {
            refuse(i, "has a child " + std::to_string(node.child()) + ": not in canonical form");
        }
        if (depth[i] >= kMaxDepth) {
            refuse(i, "is an inner node at depth " + std::to_string(kMaxDepth));
        }
        const auto below = static_cast<std::uint8_t>(depth[i] + 1);
        depth[node.child()] = std::max(depth[node.child()], below);
        depth[node.child() + 1] = std::max(depth[node.child() + 1], below);
    }
    for (const std::uint32_t triangle : tree.references) {
        if (triangle >= scene.triangles.size()) {
            throw std::runtime_error(
                "the tree cannot be laid out for rays: it refers to triangle " +
                std::to_string(triangle) + " of " + std::to_string(scene.triangles.size()));
        }
    }
}

bool are_many(std::uint64_t in_large_leaves, std::uint64_t references) {
    return in_large_leaves * 64 > references;
}
bool are_many(const LeafCounts& counts) {
    return are_many(counts.in_large_leaves, counts.all);
}

bool large_leaves(const Tree& tree) {
    std::uint64_t in_large_ones = 0;
    for (const Node node : tree.nodes) {
        if (node.is_leaf() && node.count() > kLargeLeaf) in_large_ones += node.count();
    }
    return are_many(in_large_ones, tree.references.size());
}

/// A buffer at `place` with what `fill` writes to host memory.
template <class T, class Fill>
Buffer filled(Place place, std::uint64_t count, const Fill& fill) {
    Buffer host(Place::host, count * sizeof(T));
    if (place == Place::host) prefer_large_pages(host);
    fill(host.as<T>());
    if (place == Place::host) return host;
    Buffer there(place, count * sizeof(T));
    there.write(0, host.data(), host.size());
    return there;
}

}  // namespace

RayNode ray_node(const Tree& tree, const Node& node) {
    if (node.is_leaf()) return RayNode::leaf(node.first(), node.count());
    const auto is_empty = [](const Node& n) { return n.is_leaf() && n.count() == 0; };
    return RayNode::inner(node.axis(), node.payload, (node.child() + 1) / 2,
                          is_empty(tree.nodes[node.child()]),
                          is_empty(tree.nodes[node.child() + 1]));
}

RayTree::RayTree(const Tree& tree, const scenes::Scene& scene, Place place)
    : place_(place), view_{} {
    check(tree, scene);
    has_large_leaves_ = large_leaves(tree);
    const std::uint64_t count = tree.nodes.size();
    nodes_ = filled<RayNode>(place, std::max<std::uint64_t>(count + 1, 2), [&](RayNode* to) {
        to[0] = RayNode::end();
        to[1] = RayNode::leaf(0, 0);
        platform::for_chunks(count, kChunk, 0, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) to[i + 1] = ray_node(tree, tree.nodes[i]);
        });
    });
    rows_ = filled<CornerRow>(place, 3 * tree.references.size(), [&](CornerRow* to) {
        platform::for_chunks(tree.references.size(), kChunk, 0,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 for (std::uint64_t i = begin; i < end; ++i) {
                                     const std::uint32_t number = tree.references[i];
                                     const glm::uvec3 t = scene.triangles[number];
                                     // +0 for -0, as in a tree that is laid out where it was built.
                                     const glm::vec3 a = scene.positions[t.x] + 0.0F;
                                     const glm::vec3 b = scene.positions[t.y] + 0.0F;
                                     const glm::vec3 c = scene.positions[t.z] + 0.0F;
                                     to[3 * i] = {a.x, b.x, c.x, number};
                                     to[3 * i + 1] = {a.y, b.y, c.y, number};
                                     to[3 * i + 2] = {a.z, b.z, c.z, number};
                                 }
                             });
    });
    if (place == Place::host && WideTree::is_supported())
        wide_.emplace(tree, rows_.as<CornerRow>());
    view_ = {nodes_.as<RayNode>(), rows_.as<CornerRow>(), tree.bounds};
}

RayTree::RayTree(Place place) : RayTree(Tree{}, scenes::Scene{}, place) {}

void RayTree::reserve(const TreeInPlace& made) {
    if (made.node_end / 2 >= RayNode::kLimit) {
        throw std::invalid_argument("room for a tree of " + std::to_string(made.node_end) +
                                    " nodes is too much for rays, which take fewer than 2^29");
    }
    if (made.triangle_count >= RayNode::kLimit) {
        throw std::invalid_argument("a tree of " + std::to_string(made.triangle_count) +
                                    " triangles in place is too large for rays, which take fewer "
                                    "than 2^28");
    }
    const auto larger = [&](const Buffer& buffer, std::uint64_t bytes) {
        if (buffer.size() >= bytes) return Buffer();
        // A quarter more where frames grow, so that not each of them makes room.
        return Buffer(place_, buffer.size() == 0 ? bytes : bytes + bytes / 4);
    };
    Buffer nodes = larger(nodes_, std::max<std::uint64_t>(made.node_end, 2) * sizeof(RayNode));
    Buffer rows = larger(rows_, 3 * made.reference_end * sizeof(CornerRow));
    Buffer counts = larger(counts_, sizeof(LeafCounts));
    if (place_ == Place::device && !late_) late_ = detail::make_late_counts();
    if (counts.size() > 0) counts_ = std::move(counts);
    if (nodes.size() == 0 && rows.size() == 0) return;
    if (nodes.size() > 0) nodes_ = std::move(nodes);
    if (rows.size() > 0) rows_ = std::move(rows);
    const RayNode none[]{RayNode::end(), RayNode::leaf(0, 0)};
    nodes_.write(0, none, sizeof none);
    wide_.reset();
    view_ = {nodes_.as<RayNode>(), rows_.as<CornerRow>(), {}};
}

void RayTree::lay_out(const TreeInPlace& made, void* stream) {
    const allocators::StreamScope scope(stream);
    reserve(made);
    wide_.reset();
    view_ = {nodes_.as<RayNode>(), rows_.as<CornerRow>(), made.bounds};
    const RayMemory to{nodes_.as<RayNode>(), rows_.as<CornerRow>(), counts_.as<LeafCounts>()};
    if (place_ == Place::device) {
        detail::lay_out_on_gpu(made, to, stream);
        late_->copy(to.counts, stream);
        return;
    }
    *to.counts = {};
    platform::run_threads(platform::thread_count(0), [&](std::uint32_t thread, std::uint32_t all) {
        lay_out_for_rays(made, to, thread, all);
    });
    has_large_leaves_ = are_many(*to.counts);
}

bool RayTree::has_large_leaves() const {
    return late_ ? are_many(late_->value()) : has_large_leaves_;
}

}  // namespace heapwood::kdtree
