/// @file
/// The steps of the top of a build in parts, as those of level_steps.cuh: the root's references and
/// the division of open nodes. What is counted is what Part counts, so that the same is decided.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/distributed/decision.h"
#include "kdtree/levels/level_state.cuh"
#include "kdtree/split/divide.cuh"

namespace heapwood::kdtree {

/// Reads a scene's triangles. For each of them.
struct GatherTriangles {
    const glm::vec3* positions;
    const glm::uvec3* corners;
    float scale;
    Triangle* to;

    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        const glm::uvec3 t = corners[i];
        to[i] = {positions[t.x] * scale, 0, positions[t.y] * scale, 0, positions[t.z] * scale, 0};
    }
};

/// Makes the root's references and counts them, if the root is open. For every chunk of them, a
/// warp each.
struct FillTop {
    struct Scratch {
        Bins bins;
        BinFrame frame;
    };
    TopStart start;
    const Triangle* triangles;
    std::uint32_t count;
    std::uint32_t chunk;
    Reference* references;
    Bins* bins;  ///< cleared

    template <platform::Warp W>
    HEAPWOOD_FN void operator()(const W& warp, Scratch& scratch, std::uint32_t i) const {
        const bool open = start.open != 0;
        clear_bins(warp, scratch.bins);
        if (warp.lane() == 0) scratch.frame = start.frame;
        warp.sync();
        const std::uint32_t begin = i * chunk;
        const std::uint32_t rest = count - begin;
        fill_root(warp, triangles, begin, begin + (rest < chunk ? rest : chunk), references, open,
                  scratch.bins, scratch.frame);
        if (!open) return;
        warp.sync();
        add_bins(warp, bins[0], scratch.bins);
    }
};

/// An open node that is divided.
struct TopNode {
    Decision decision;
    const Reference* references;
    std::uint32_t count;
    Reference* to[2];       ///< places for its children's references
    std::uint32_t bins[2];  ///< numbers of the bins of those children that are open
    std::uint32_t used[2];  ///< places that are taken, at first 0
};

/// Divides open nodes, and counts the references of open children. For every item of work, a warp
/// each.
struct DivideTop {
    struct Scratch {
        Bins bins[2];
        BinFrame frames[2];
        std::uint32_t crossing[kCrossing];
    };
    const Triangle* triangles;
    bool clip;
    std::uint32_t chunk;
    TopNode* nodes;
    const LevelItem* items;  ///< whose pieces are nodes
    Bins* bins;              ///< cleared

    template <platform::Warp W>
    HEAPWOOD_FN void operator()(const W& warp, Scratch& scratch, std::uint32_t i) const {
        const LevelItem item = items[i];
        TopNode& node = nodes[item.piece];
        const std::uint32_t rest = node.count - item.begin;
        const Stretch stretch{node.references, item.begin,
                              item.begin + (rest < chunk ? rest : chunk), node.decision.split};
        const bool open[2] = {node.decision.open[0] != 0, node.decision.open[1] != 0};
        std::uint32_t counts[2];
        count_sides(warp, stretch, counts);
        std::uint32_t used[2];
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            clear_bins(warp, scratch.bins[side]);
            std::uint32_t first = 0;
            if (warp.lane() == 0) {
                scratch.frames[side] = node.decision.frames[side];
                first = platform::AtomicRef(node.used[side]).add_relaxed(counts[side]);
            }
            used[side] = warp.shuffle(first, 0);
        }
        warp.sync();
        divide(warp, triangles, clip, stretch, used, open, scratch.bins, scratch.frames,
               scratch.crossing, Places{{node.to[0], node.to[1]}});
        warp.sync();
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            if (open[side]) add_bins(warp, bins[node.bins[side]], scratch.bins[side]);
        }
    }

private:
    struct Places {
        Reference* sides[2];

        HEAPWOOD_INLINE void put(unsigned side, std::uint32_t i, const Reference& r) const {
            // Chosen rather than indexed, which would take local memory.
            store_wide((side == 0 ? sides[0] : sides[1]) + i, r);
        }
        Reference* from(unsigned side, std::uint32_t i) const { return sides[side] + i; }
        void done(unsigned, std::uint32_t, const Reference*, std::uint32_t) const {}
    };
};

}  // namespace heapwood::kdtree
