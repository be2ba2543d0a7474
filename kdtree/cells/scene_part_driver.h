/// @file
/// A scene as one part on a machine: its arrays and the order of its steps.
///
/// A machine does what the level method's does (level_driver.h), and
///     Scope enter() const;  // while it lives, the caller's thread works on this machine
///     void fetch(const void* from, std::uint64_t bytes, const Use& use) const;
///         // use(data, offset, size) for pieces of the machine's memory, where the host can read
///         // them, by several threads; pieces but the last are of whole multiples of 8 bytes
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "allocators/memory/array_pool.h"
#include "allocators/memory/buffer.h"
#include "allocators/platform/bits.cuh"
#include "kdtree/cells/scene_part.h"
#include "kdtree/cells/scene_part_steps.cuh"
#include "kdtree/levels/level_driver.h"
#include "kdtree/tree/canonical_order.h"

namespace heapwood::kdtree {

template <class Machine>
class ScenePartOn final : public ScenePart {
    using Block = allocators::ArrayPool::Block;

public:
    /// Refers to the scene. @param machine what the machine is made of
    template <class... Arguments>
    ScenePartOn(const scenes::Scene& scene, float scale, const BuildConfig& config,
                const Arguments&... machine)
        : machine_(machine...),
          pool_(machine_.place()),
          scene_(scene),
          scale_(scale),
          config_(config) {
        config_.max_nodes = config_.max_references = 0;
    }

    std::vector<Bins> start(const TopStart& start) override {
        [[maybe_unused]] const auto scope = machine_.enter();
        order_.reset();
        driver_.reset();
        open_.clear();
        cells_.clear();
        if (triangles_.size() == 0) gather();
        const auto n = static_cast<std::uint32_t>(scene_.triangles.size());
        Held root = held(n);
        const Block bins = cleared(start.open);
        const std::uint32_t chunk = chunk_of(n);
        machine_.for_each_warp((n - 1) / chunk + 1,
                               FillTop{start, triangles_.as<Triangle>(), n, chunk,
                                       root.references.template as<Reference>(), bins.as<Bins>()});
        (start.open != 0 ? open_ : cells_).push_back(std::move(root));
        return read(bins, start.open);
    }

    std::vector<Bins> divide(std::span<const Decision> decisions) override {
        if (decisions.size() != open_.size()) {
            throw std::invalid_argument("there are decisions on " +
                                        std::to_string(decisions.size()) + " nodes, and " +
                                        std::to_string(open_.size()) + " are open");
        }
        [[maybe_unused]] const auto scope = machine_.enter();
        std::vector<Held> former = std::exchange(open_, {});
        std::vector<TopNode> nodes;
        std::uint64_t references = 0;
        for (std::size_t i = 0; i < former.size(); ++i) {
            if (decisions[i].split.axis == Split::kMakeLeaf) {
                cells_.push_back(std::move(former[i]));
                continue;
            }
            references += former[i].count;
            nodes.push_back(divided(former[i], decisions[i]));
        }
        const auto open = static_cast<std::uint32_t>(open_.size());
        const Block bins = cleared(open);
        if (!nodes.empty()) divide(nodes, chunk_of(references), bins.as<Bins>());
        return read(bins, open);
    }

    CellResult build(const CellOrder& cell, const TreeRules& rules) override {
        [[maybe_unused]] const auto scope = machine_.enter();
        order_.reset();
        Held node = std::exchange(cells_.at(cell.number), {});
        if (node.count != cell.node.count) {
            throw std::runtime_error("cell " + std::to_string(cell.number) + " has " +
                                     std::to_string(cell.node.count) +
                                     " references, but the part has " + std::to_string(node.count));
        }
        const LevelInput input{.rules = rules,
                               .root = cell.node,
                               .triangles = {},
                               .references = {},
                               .normalisation = scale_,
                               .budget = cell.budget};
        driver_.emplace(machine_, pool_, input, triangles_.as<Triangle>(),
                        std::move(node.references), config_);
        CellResult result{.status = driver_->build(rules.max_depth)};
        result.message = driver_->message();
        if (result.status != Status::done) return result;
        order_.emplace(machine_, pool_, driver_->unordered());
        if (!order_->measure()) {
            throw std::runtime_error(
                "the nodes of cell " + std::to_string(cell.number) +
                " are no tree: this is a defect of Heapwood; please report it");
        }
        result.nodes = order_->nodes();
        result.references = order_->references();
        return result;
    }

    void put(const CellPlace& place) override {
        [[maybe_unused]] const auto scope = machine_.enter();
        nodes_ = order_->nodes();
        references_ = order_->references();
        make_room(put_nodes_, nodes_ * sizeof(Node));
        make_room(put_references_, references_ * sizeof(std::uint32_t));
        unsorted_ = order_->put(put_nodes_.as<Node>(), put_references_.as<std::uint32_t>(),
                                {.pairs = static_cast<std::uint32_t>(place.nodes / 2),
                                 .references = static_cast<std::uint32_t>(place.references)});
        order_.reset();
        driver_.reset();
    }

    void hand_over(const CellPlace& place, TreeSink& sink) override {
        [[maybe_unused]] const auto scope = machine_.enter();
        if (unsorted_) return hand_over_sorted(place, sink);
        fetch<Node>(put_nodes_, nodes_, [&](std::uint64_t first, std::span<const Node> nodes) {
            put_nodes(place, sink, first, nodes);
        });
        fetch<std::uint32_t>(put_references_, references_,
                             [&](std::uint64_t first, std::span<const std::uint32_t> references) {
                                 sink.put_references(place.references + first, references);
                             });
    }

private:
    /// References of an open node or a cell.
    struct Held {
        Block references;
        std::uint32_t count = 0;
    };

    void gather() {
        const auto n = static_cast<std::uint32_t>(scene_.triangles.size());
        Block triangles = pool_.request(n * sizeof(Triangle), "the triangles");
        GatherTriangles step{scene_.positions.data(), scene_.triangles.data(), scale_,
                             triangles.as<Triangle>()};
        Block positions;
        Block corners;
        if (machine_.place() == allocators::Place::device) {
            positions = uploaded<glm::vec3>(scene_.positions);
            corners = uploaded<glm::uvec3>(scene_.triangles);
            step.positions = positions.template as<glm::vec3>();
            step.corners = corners.template as<glm::uvec3>();
        }
        machine_.for_each(n, step);
        triangles_ = std::move(triangles);
    }
    template <class T>
    Block uploaded(std::span<const T> data) {
        Block block = pool_.request(data.size_bytes(), "the scene");
        block.write(0, data.data(), data.size_bytes());
        return block;
    }

    /// Room for `count` references.
    Held held(std::uint32_t count) {
        return {pool_.request(count * std::uint64_t{sizeof(Reference)}, "references of the top"),
                count};
    }
    Block cleared(std::uint32_t bins) {
        Block block = pool_.request(bins * sizeof(Bins), "bins of the top");
        Level level{};
        level.bins = block.template as<Bins>();
        machine_.for_each_warp(bins, ClearBins{level});
        return block;
    }
    static std::vector<Bins> read(const Block& block, std::uint32_t count) {
        std::vector<Bins> bins(count);
        if (count > 0) block.read(0, bins.data(), bins.size() * sizeof(Bins));
        return bins;
    }
    /// References of an item of work.
    std::uint32_t chunk_of(std::uint64_t references) const {
        constexpr std::uint64_t kLeast = 256;  // of fewer the bins would be more
        return static_cast<std::uint32_t>(
            std::max(kLeast, platform::ceil_div<std::uint64_t>(references, machine_.warps())));
    }

    /// A node that is to be divided, whose children get places.
    TopNode divided(const Held& node, const Decision& decision) {
        TopNode top{.decision = decision,
                    .references = node.references.template as<Reference>(),
                    .count = node.count,
                    .to = {},
                    .bins = {},
                    .used = {}};
        for (unsigned side = 0; side < 2; ++side) {
            Held child = held(side == 0 ? decision.split.left : decision.split.right);
            top.to[side] = child.references.template as<Reference>();
            top.bins[side] = static_cast<std::uint32_t>(open_.size());
            (decision.open[side] != 0 ? open_ : cells_).push_back(std::move(child));
        }
        return top;
    }
    void divide(const std::vector<TopNode>& nodes, std::uint32_t chunk, Bins* bins) {
        std::vector<LevelItem> items;
        for (std::uint32_t i = 0; i < nodes.size(); ++i) {
            for (std::uint64_t begin = 0; begin < nodes[i].count; begin += chunk) {
                items.push_back({i, static_cast<std::uint32_t>(begin)});
            }
        }
        const Block there = uploaded<TopNode>(nodes);
        const Block work = uploaded<LevelItem>(items);
        machine_.for_each_warp(
            static_cast<std::uint32_t>(items.size()),
            DivideTop{triangles_.as<Triangle>(), config_.clip, chunk, there.template as<TopNode>(),
                      work.template as<LevelItem>(), bins});
    }

    void make_room(allocators::Buffer& buffer, std::uint64_t bytes) const {
        if (buffer.size() >= bytes) return;
        buffer = {};  // never two at once
        buffer = allocators::Buffer(machine_.place(), bytes + bytes / 4);
    }
    /// Calls use(first, elements) for pieces of an array.
    template <class T, class Use>
    void fetch(const allocators::Buffer& array, std::uint64_t count, const Use& use) const {
        machine_.fetch(array.data(), count * sizeof(T),
                       [&](const void* data, std::uint64_t offset, std::uint64_t bytes) {
                           use(offset / sizeof(T),
                               std::span(static_cast<const T*>(data), bytes / sizeof(T)));
                       });
    }
    /// Nodes of a cell from the `first` on. Its root has a place of its own.
    static void put_nodes(const CellPlace& place, TreeSink& sink, std::uint64_t first,
                          std::span<const Node> nodes) {
        if (first == 0) {
            sink.put_nodes(place.root, nodes.first(1));
            nodes = nodes.subspan(1);
            ++first;
        }
        sink.put_nodes(place.nodes + first - 1, nodes);
    }
    /// For cells with long leaves, which are rare.
    void hand_over_sorted(const CellPlace& place, TreeSink& sink) {
        std::vector<Node> nodes(nodes_);
        std::vector<std::uint32_t> references(references_);
        put_nodes_.read(0, nodes.data(), nodes.size() * sizeof(Node));
        put_references_.read(0, references.data(), references.size() * sizeof(std::uint32_t));
        detail::sort_long_leaves(nodes.data(), nodes.size(), references.data(),
                                 static_cast<std::uint32_t>(place.references));
        put_nodes(place, sink, 0, nodes);
        sink.put_references(place.references, references);
    }

    Machine machine_;
    allocators::ArrayPool pool_;
    const scenes::Scene& scene_;
    float scale_;
    BuildConfig config_;
    Block triangles_;
    std::vector<Held> open_;
    std::vector<Held> cells_;
    std::optional<LevelDriver<Machine>> driver_;  ///< of the cell that was built last
    std::optional<detail::CanonicalOrder<Machine>> order_;
    allocators::Buffer put_nodes_;
    allocators::Buffer put_references_;
    std::uint64_t nodes_ = 0;
    std::uint64_t references_ = 0;
    bool unsorted_ = false;
};

}  // namespace heapwood::kdtree
