/// @file
/// The first stage of a build: all warps divide the large nodes together, level by level.
///
/// A level has two steps, and a barrier after each. First its nodes are divided: they are cut into
/// chunks of references, which are dealt out to the warps; all of them add the bins of the
/// children up. Then the children are dealt out: a warp decides on one by its bins, and makes it a
/// node of the next level if it is large, with arrays for its own children. All others it enters in
/// a list for the second stage. Meanwhile other warps free the arrays that have been divided.
///
/// Whatever is written in a step and read in a later one is ordered by the barrier.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_output.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/single/division.cuh"
#include "kdtree/single/grid_barrier.cuh"
#include "kdtree/single/node_arrays.cuh"

namespace heapwood::kdtree {

/// One warp's part in the first stage.
template <platform::Warp W, class Team, class NodeArraysOf>
class LargeStage {
public:
    /// Refers to its arguments.
    HEAPWOOD_FN LargeStage(const W& warp, const Team& team, const Problem& problem,
                           Scratch<W>& scratch, BuildOutput<W>& output, NodeArraysOf& arrays,
                           PhaseClock<W>& clock)
        : warp_(warp),
          team_(team),
          problem_(problem),
          scratch_(scratch),
          output_(output),
          arrays_(arrays),
          clock_(clock),
          barrier_(warp, team, problem.state->barrier),
          limit_(problem.large_limit) {}

    /// Collective of all warps: divides all large nodes. Afterwards the pieces that are left are
    /// in the list, seen by all.
    HEAPWOOD_FN void run() {
        if (team_.rank() == 0) {
            clock_.start_all();
            make_root();
        }
        wait_for_all();
        clock_.start();
        LargeNode& root = problem_.large_nodes[0];
        if (root.piece.references == nullptr) return;
        fill_root_chunks(root);
        wait_for_all();
        if (team_.rank() == 0) {
            Piece piece = root.piece;
            settle(piece, root, 0);
        }
        HEAPWOOD_UNROLL(1)
        for (unsigned turn = 0;; ++turn) {
            end_level();
            const LargeLevel level = problem_.state->level;  // written at the barrier
            if (level.chunks == 0) return;
            const Chunk* const chunks = problem_.chunks + (turn % 2) * problem_.chunk_capacity;
            next_ = problem_.chunks + (1 - turn % 2) * problem_.chunk_capacity;
            next_chunk_ = level.chunk;
            limit_ = level.limit;
            failed_ = level.failed != 0;
            clock_.enter(Phase::divide_large);
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t i = team_.rank(); i < level.chunks; i += team_.all_warps()) {
                const Chunk chunk = chunks[i];
                if (chunk.node != Chunk::kNone) {
                    divide_chunk(problem_.large_nodes[chunk.node], chunk.number);
                }
            }
            wait_for_all();
            const std::uint32_t nodes = level.end - level.first;
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t i = team_.rank(); i < 3 * nodes; i += team_.all_warps()) {
                if (i < nodes) {
                    // By other warps than those for which all wait, if there are enough.
                    arrays_.release_large(problem_.large_nodes[level.first + i].piece);
                } else {
                    const std::uint32_t child = i - nodes;
                    settle_child(problem_.large_nodes[level.first + child / 2], child % 2);
                }
            }
        }
    }

private:
    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }

    HEAPWOOD_INLINE void wait_for_all() {
        clock_.enter(Phase::wait);
        barrier_.wait();
        clock_.enter(Phase::other);
    }

    /// Collective of all warps: what has been made is the level to go on with.
    HEAPWOOD_INLINE void end_level() {
        clock_.enter(Phase::wait);
        barrier_.wait([&] {
            BuildState& state = *problem_.state;
            const platform::AtomicRef made(state.next_level);
            const std::uint64_t now = made.load_relaxed();
            const auto chunks = static_cast<std::uint32_t>(now);
            const auto nodes = static_cast<std::uint32_t>(now >> 32);
            LargeLevel& level = state.level;
            level.first = level.end;
            level.end = nodes < problem_.large_capacity ? nodes : problem_.large_capacity;
            level.chunks = chunks < problem_.chunk_capacity ? chunks : problem_.chunk_capacity;
            if (chunks > state.most_chunks) state.most_chunks = chunks;
            // The level after this one has about as many references.
            const std::uint32_t references = state.next_references.ref().load_relaxed();
            level.chunk = chunk_for(references);
            const std::uint32_t limit = limit_for(references);
            if (limit > level.limit) state.late_pieces = state.pieces.ref().load_relaxed();
            level.limit = limit;
            level.failed = ends_build(static_cast<Status>(state.status.ref().load_relaxed()));
            made.store_relaxed(now - chunks);
            state.next_references.ref().store_relaxed(0);
        });
        clock_.enter(Phase::other);
    }

    /// How many references a chunk should have, in a level of so many.
    HEAPWOOD_INLINE std::uint32_t chunk_for(std::uint32_t references) const {
        // Nodes have a smaller chunk each, too. With this many, most warps have one, and few two.
        const std::uint32_t even = references / (team_.all_warps() * 3 / 4 + 1) + 1;
        const std::uint32_t chunk = even > kSmallestChunk ? even : kSmallestChunk;
        return whole_rounds(chunk < problem_.chunk ? chunk : problem_.chunk);
    }
    /// At least so many references, of which no lane has fewer than another.
    HEAPWOOD_INLINE static std::uint32_t whole_rounds(std::uint32_t references) {
        return platform::round_up<std::uint32_t>(references, W::width);
    }

    /// How many references a child must exceed to be large, after a level of so many.
    HEAPWOOD_INLINE std::uint32_t limit_for(std::uint32_t references) const {
        if (references >= kLateShare * team_.all_warps()) return problem_.large_limit;
        constexpr std::uint32_t kMost = ~0U / kLateFactor;
        return kLateFactor * (problem_.large_limit < kMost ? problem_.large_limit : kMost);
    }

    /// The root's array, and the node that counts its references.
    HEAPWOOD_FN void make_root() {
        LargeNode& root = problem_.large_nodes[0];
        BuildState& state = *problem_.state;
        Reference* array = leader() ? arrays_.allocate_root() : nullptr;
        if (leader()) {
            root.piece = Piece{};
            root.piece.references = array;
            root.piece.count = problem_.count;
            root.piece.cell = root.piece.tight = problem_.bounds;
            root.frames[0] = BinFrame::of(problem_.bounds, problem_.grid);
            root.chunk = chunk_for(problem_.count);
            state.nodes = 1;  // counts pairs: the root and a sibling that is not used
            state.next_level = std::uint64_t{1} << 32;
            state.level = {.first = 0,
                           .end = 1,
                           .chunks = 0,
                           .chunk = root.chunk,
                           .limit = problem_.large_limit,
                           .failed = 0};
            if (array == nullptr) {
                output_.record_failure(Status::pool_exhausted,
                                       NodeArraysOf::bytes_of(problem_.count));
            }
        }
        clear_bins(warp_, root.bins[0]);
        next_ = problem_.chunks;
        next_chunk_ = chunk_for(problem_.count);
    }

    HEAPWOOD_MAY_CALL_HOST
    HEAPWOOD_FN void fill_root_chunks(LargeNode& root) {
        const bool bin = problem_.count > problem_.exact_limit;
        clear_bins(warp_, scratch_.division.bins[0]);
        if (leader()) scratch_.frames[0] = root.frames[0];
        warp_.sync();
        const std::uint32_t stride = root.chunk;
        for (std::uint64_t begin = std::uint64_t{team_.rank()} * stride; begin < problem_.count;
             begin += std::uint64_t{team_.all_warps()} * stride) {
            const auto first = static_cast<std::uint32_t>(begin);
            fill_root(warp_, problem_.triangles, first, end_of(first, stride, problem_.count),
                      root.piece.references, bin, scratch_.division.bins[0], scratch_.frames[0]);
            warp_.sync();
            if (bin) add_bins(warp_, root.bins[0], scratch_.division.bins[0]);
            warp_.sync();
            clear_bins(warp_, scratch_.division.bins[0]);
            warp_.sync();
        }
    }

    HEAPWOOD_INLINE static std::uint32_t end_of(std::uint32_t begin, std::uint32_t chunk,
                                                std::uint32_t count) {
        return count - begin < chunk ? count : begin + chunk;
    }

    HEAPWOOD_FN void divide_chunk(LargeNode& node, std::uint32_t number) {
        warp_.sync();  // the scratch memory's previous use is over in all lanes
        Piece piece;
        piece.references = node.piece.references;
        piece.split = node.piece.split;
        Division division;
        division.begin = number * node.chunk;
        division.end = end_of(division.begin, node.chunk, node.piece.count);
        division.arrays[0] = node.child_references[0];
        division.arrays[1] = node.child_references[1];
        for (unsigned i = warp_.lane(); i < 2; i += W::width) scratch_.frames[i] = node.frames[i];
        clear_bins(warp_, scratch_.division.bins[0]);
        clear_bins(warp_, scratch_.division.bins[1]);
        reserve_parts(node, division);
        warp_.sync();
        clock_.count_divided(division.end - division.begin);
        divide_piece<Loops::many_loads>(warp_, problem_, piece, division, scratch_, output_);
        warp_.sync();
        for (unsigned side = 0; side < 2; ++side) {
            if ((side == 0 ? piece.split.left : piece.split.right) > problem_.exact_limit) {
                add_bins(warp_, node.bins[side], scratch_.division.bins[side]);
            }
        }
    }

    /// Collective: reserves places in the children's arrays for a chunk's references.
    HEAPWOOD_FN void reserve_parts(LargeNode& node, Division& division) const {
        std::uint32_t parts[2];
        count_sides<Loops::many_loads>(
            warp_, {node.piece.references, division.begin, division.end, node.piece.split}, parts);
        std::uint64_t start[2];
        by_two_lanes(warp_, start, [&](unsigned side) {
            return (side == 0 ? node.used[0] : node.used[1])
                .ref()
                .add_relaxed(side == 0 ? parts[0] : parts[1]);
        });
        division.used[0] = static_cast<std::uint32_t>(start[0]);
        division.used[1] = static_cast<std::uint32_t>(start[1]);
    }

    /// Collective: goes on with a child of a node that has been divided.
    HEAPWOOD_FN void settle_child(LargeNode& node, unsigned side) {
        const Piece& parent = node.piece;
        if (parent.references == nullptr) return;
        Piece child = child_of(parent, parent.split, side,
                               side == 0 ? node.child_references[0] : node.child_references[1],
                               node.child_node);
        settle(child, node, side);
    }

    /// Collective: decides on a piece by a node's bins of that side, and makes it a node of the
    /// next level or enters it in the list.
    HEAPWOOD_FN void settle(Piece& piece, const LargeNode& node, unsigned side) {
        if (!failed_ && piece.count > problem_.exact_limit) {
            clock_.enter(Phase::decide);
            decide_binned<Loops::many_loads>(warp_, problem_, piece,
                                             side == 0 ? node.bins[0] : node.bins[1],
                                             side == 0 ? node.frames[0] : node.frames[1], output_);
        }
        clock_.enter(Phase::allocate);
        if (!failed_ && piece.count > limit_ && piece.split.axis < Split::kMakeLeaf &&
            enlist(piece)) {
            return;
        }
        if (leader()) {
            BuildState& state = *problem_.state;
            problem_.pieces[state.pieces.ref().add_relaxed(1)] = piece;
            state.outstanding.ref().count_relaxed(1);
        }
    }

    /// Collective: makes a piece a node of the next level. False: there is no room for it, or no
    /// memory for its children.
    HEAPWOOD_FN bool enlist(const Piece& piece) {
        BuildState& state = *problem_.state;
        const std::uint32_t chunks = platform::ceil_div(piece.count, next_chunk_);
        const std::uint32_t chunk = whole_rounds(platform::ceil_div(piece.count, chunks));
        std::uint64_t place = 0;
        if (leader()) {
            place =
                platform::AtomicRef(state.next_level).add_relaxed(std::uint64_t{1} << 32 | chunks);
            state.next_references.ref().count_relaxed(piece.count);
        }
        Reference* arrays[2] = {nullptr, nullptr};
        place = warp_.shuffle(place, 0);
        const auto number = static_cast<std::uint32_t>(place >> 32);
        const auto first = static_cast<std::uint32_t>(place);
        const bool made = number < problem_.large_capacity &&
                          first + chunks <= problem_.chunk_capacity &&
                          arrays_.allocate_children(piece.split, output_, arrays);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = warp_.lane(); i < chunks && first + i < problem_.chunk_capacity;
             i += W::width) {
            const bool some = made && i * chunk < piece.count;
            next_[first + i] = {some ? number : Chunk::kNone, i};
        }
        if (number >= problem_.large_capacity) return false;
        LargeNode& node = problem_.large_nodes[number];
        if (!made) {
            if (leader()) node.piece.references = nullptr;  // its number means no node
            return false;
        }
        const Split& split = piece.split;
        const std::uint32_t child = output_.reserve_pair();
        for (unsigned side = warp_.lane(); side < 2; side += W::width) {
            node.frames[side] = BinFrame::of(part_of(piece.tight, split, side), problem_.grid);
            node.used[side].value = 0;
        }
        if (leader()) {
            output_.write_node(piece.node, Node::inner(split.axis, split.position, child));
            node.piece = piece;
            node.child_references[0] = arrays[0];
            node.child_references[1] = arrays[1];
            node.child_node = child;
            node.chunk = chunk;
        }
        clear_bins(warp_, node.bins[0]);
        clear_bins(warp_, node.bins[1]);
        return true;
    }

    /// References below which a further warp costs more than it helps. (A smaller
    /// BuildConfig::chunk goes first.)
    static constexpr std::uint32_t kSmallestChunk = W::width == 1 ? 1024 : 32;
    /// A level of fewer references for each warp is late: it takes longer than the second stage
    /// would take for them. Only children so many times as large as others are still divided
    /// together.
    static constexpr std::uint32_t kLateShare = 16;
    static constexpr std::uint32_t kLateFactor = 8;

    const W warp_;
    const Team team_;
    const Problem& problem_;
    Scratch<W>& scratch_;
    BuildOutput<W>& output_;
    NodeArraysOf& arrays_;
    PhaseClock<W>& clock_;
    GridBarrier<W, Team> barrier_;
    Chunk* next_ = nullptr;         ///< the next level's chunks
    std::uint32_t next_chunk_ = 0;  ///< most references of one
    std::uint32_t limit_;           ///< children with more references are large
    bool failed_ = false;           ///< the build had failed before the level began
};

}  // namespace heapwood::kdtree
