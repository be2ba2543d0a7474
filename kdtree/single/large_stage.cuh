/// @file
/// The first stage of a build: all warps divide the large nodes together.
///
/// The work is a list (work_list.cuh) of two kinds of items. A chunk of a node's references is
/// divided by one warp; all warps with chunks of the same node add the bins of its children up.
/// The warp that ends a node's last chunk enters both children. The warp that takes one decides on
/// it by its bins, and makes it a large node, with arrays for its own children, whose chunks it
/// enters. Children that are not large it puts in a list for the second stage.
///
/// So no node waits for another. How large a chunk is, and which child is large, goes by how many
/// references there are to work on at the time.
///
/// The way down to the last large node is long, and most warps wait on it. So half of them, the
/// helpers, leave this stage for the second while the others go on, as soon as these are enough. A
/// multiprocessor has only helpers or none: warps of both stages hinder one another on one of them.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_output.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/single/division.cuh"
#include "kdtree/single/grid_barrier.cuh"
#include "kdtree/single/node_arrays.cuh"
#include "kdtree/single/warp_tasks.cuh"
#include "kdtree/single/work_list.cuh"

namespace heapwood::kdtree {

/// One warp's part in the first stage.
template <platform::Warp W, class Team, class NodeArraysOf>
class LargeStage {
public:
    /// Refers to its arguments. `helps`: the warp is a helper; not all may be.
    HEAPWOOD_FN LargeStage(const W& warp, const Team& team, const Problem& problem,
                           Scratch<W>& scratch, BuildOutput<W>& output, NodeArraysOf& arrays,
                           WarpTasks<W>& tasks, PhaseClock<W>& clock, bool helps)
        : warp_(warp),
          team_(team),
          problem_(problem),
          scratch_(scratch),
          output_(output),
          arrays_(arrays),
          tasks_(tasks),
          clock_(clock),
          barrier_(warp, team, problem.state->barrier),
          work_(warp, problem.work, problem.state->work, team.all_warps()),
          helps_(helps) {}

    /// Collective of all warps: divides all large nodes, and puts the pieces that are left in the
    /// list. False: there is no memory for the root.
    HEAPWOOD_FN bool run() {
        if (team_.rank() == 0) {
            clock_.start_all();
            make_root();
        }
        wait_for_all();
        clock_.start();
        LargeNode& root = problem_.large_nodes[0];
        if (root.piece.references == nullptr) return false;
        fill_root_chunks(root);
        wait_for_all();
        if (team_.rank() == 0) {
            Piece piece = root.piece;
            settle(piece, root, 0);
        }
        HEAPWOOD_UNROLL(1)
        while (!(helps_ && may_leave())) {
            clock_.enter(Phase::wait);
            const std::uint64_t word =
                work_.take([](std::uint64_t item) { return LargeWork::of(item).number(); });
            clock_.enter(Phase::other);
            if (word == work_.kNothing) continue;
            if (work_.is_end(word)) break;
            const LargeWork item = LargeWork::of(word);
            LargeNode& node = problem_.large_nodes[item.node];
            if (item.is_child()) {
                settle_child(node, item.side());
            } else {
                clock_.enter(Phase::divide_large);
                divide_chunk(node, item.part);
                end_chunk(node, item.node);
            }
        }
        return true;
    }

private:
    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }

    HEAPWOOD_INLINE void wait_for_all() {
        clock_.enter(Phase::wait);
        barrier_.wait();
        clock_.enter(Phase::other);
    }

    /// Collective: whether so few references are open that half of the warps are enough for them.
    HEAPWOOD_INLINE bool may_leave() const {
        return warp_.any(leader() && are_few(problem_.state->open.ref().load_relaxed()));
    }
    HEAPWOOD_INLINE bool are_few(std::uint32_t references) const {
        return references < kFewShare * team_.all_warps();
    }

    /// How many references a chunk should have, where so many are open.
    HEAPWOOD_INLINE std::uint32_t chunk_for(std::uint32_t references) const {
        // Nodes have a smaller chunk each, too. With this many, most warps have one, and few two.
        const std::uint32_t warps = team_.all_warps();
        const std::uint32_t even =
            references / ((are_few(references) ? warps / 2 : warps * 3 / 4) + 1) + 1;
        const std::uint32_t chunk = even > kSmallestChunk ? even : kSmallestChunk;
        return whole_rounds(chunk < problem_.chunk ? chunk : problem_.chunk);
    }
    /// At least so many references, of which no lane has fewer than another.
    HEAPWOOD_INLINE static std::uint32_t whole_rounds(std::uint32_t references) {
        return platform::round_up<std::uint32_t>(references, W::width);
    }

    /// How many references a child must exceed to be large, where so many are open.
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
            state.large = std::uint64_t{1} << 32;
            state.work.expected.value = 1;
            state.open.value = problem_.count;
            state.outstanding.value = 1;
            state.nodes = 1;  // counts pairs: the root and a sibling that is not used
            if (array == nullptr) {
                output_.record_exhausted(NodeArraysOf::bytes_of(problem_.count));
            }
        }
        clear_bins(warp_, root.bins[0]);
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
        const std::uint32_t begin = number * node.chunk;
        const Stretch stretch{node.piece.references, begin,
                              end_of(begin, node.chunk, node.piece.count), node.piece.split};
        for (unsigned i = warp_.lane(); i < 2; i += W::width) scratch_.frames[i] = node.frames[i];
        clear_bins(warp_, scratch_.division.bins[0]);
        clear_bins(warp_, scratch_.division.bins[1]);
        const ChunkPlaces places = reserve_places(node, number, stretch);
        warp_.sync();
        clock_.count_divided(stretch.end - stretch.begin);
        const bool bin[2] = {stretch.split.left > problem_.exact_limit,
                             stretch.split.right > problem_.exact_limit};
        divide<Loops::many_loads>(warp_, problem_.triangles, problem_.clip, stretch, {0, 0}, bin,
                                  scratch_.division.bins, scratch_.frames,
                                  scratch_.division.crossing, places);
        warp_.sync();
        for (unsigned side = 0; side < 2; ++side) {
            if (side == 0 ? bin[0] : bin[1]) {
                add_bins(warp_, node.bins[side], scratch_.division.bins[side]);
            }
        }
    }

    /// Where a chunk's references go in the children's arrays: from a place on, one after the
    /// other, upwards or downwards.
    struct ChunkPlaces {
        Reference* first[2];
        std::int32_t step;  ///< 1 or -1

        HEAPWOOD_INLINE void put(unsigned side, std::uint32_t i, const Reference& reference) const {
            store_wide((side == 0 ? first[0] : first[1]) + static_cast<std::int32_t>(i) * step,
                       reference);
        }
        Reference* from(unsigned side, std::uint32_t i) const { return first[side] + i; }
        void done(unsigned, std::uint32_t, const Reference*, std::uint32_t) const {}
    };

    /// Collective: reserves places in the children's arrays for a chunk's references.
    HEAPWOOD_FN ChunkPlaces reserve_places(LargeNode& node, std::uint32_t number,
                                           const Stretch& stretch) const {
        ChunkPlaces places{{node.child_references[0], node.child_references[1]}, 1};
        // Of at most two chunks the first fills the arrays from the beginning, and the other from
        // the end. Nothing has to be counted for that. (A warp of one lane goes upwards only.)
        if (node.piece.count <= (W::width == 1 ? 1 : 2) * std::uint64_t{node.chunk}) {
            if (number == 1) {
                places.first[0] += stretch.split.left - 1;
                places.first[1] += stretch.split.right - 1;
                places.step = -1;
            }
            return places;
        }
        std::uint32_t parts[2];
        count_sides<Loops::many_loads>(warp_, stretch, parts);
        std::uint64_t start[2];
        by_two_lanes(warp_, start, [&](unsigned side) {
            return (side == 0 ? node.used[0] : node.used[1])
                .ref()
                .add_relaxed(side == 0 ? parts[0] : parts[1]);
        });
        places.first[0] += start[0];
        places.first[1] += start[1];
        return places;
    }

    /// Collective: a chunk of a node has been divided. After its last one there are its children to
    /// go on with.
    HEAPWOOD_FN void end_chunk(LargeNode& node, std::uint32_t number) {
        warp_.sync();
        const std::uint32_t left =
            warp_.shuffle(leader() ? node.chunks.ref().sub_acq_rel(1) : 0U, 0);
        if (left != 1) return;
        warp_.sync();
        std::uint32_t place = 0;
        if (leader()) {
            place = work_.take_places(2);
            work_.expect(1);  // two children in place of the node
            const Piece& piece = node.piece;
            problem_.state->open.ref().count_relaxed(piece.split.left + piece.split.right -
                                                     piece.count);
        }
        work_.enter(place, 2, [&](std::uint32_t i) {
            return LargeWork{number, LargeWork::kChild + i}.word();
        });
        arrays_.release_large(node.piece);
    }

    /// Collective: goes on with a child of a node that has been divided.
    HEAPWOOD_FN void settle_child(LargeNode& node, unsigned side) {
        const Piece& parent = node.piece;
        Piece child = child_of(parent, parent.split, side,
                               side == 0 ? node.child_references[0] : node.child_references[1],
                               node.child_node);
        settle(child, node, side);
    }

    /// Collective: decides on a piece by a node's bins of that side, and makes it a large node or
    /// puts it in the second stage's list.
    HEAPWOOD_FN void settle(Piece& piece, const LargeNode& node, unsigned side) {
        BuildState& state = *problem_.state;
        std::uint64_t seen = 0;
        if (leader()) {
            const auto status = static_cast<Status>(state.status.ref().load_relaxed());
            seen = std::uint64_t{ends_build(status)} << 32 | state.open.ref().load_relaxed();
        }
        seen = warp_.shuffle(seen, 0);
        const bool failed = seen >> 32 != 0;
        const auto open = static_cast<std::uint32_t>(seen);
        if (!failed && piece.count > problem_.exact_limit) {
            clock_.enter(Phase::decide);
            decide_binned<Loops::many_loads>(warp_, problem_, piece,
                                             side == 0 ? node.bins[0] : node.bins[1],
                                             side == 0 ? node.frames[0] : node.frames[1], output_);
        }
        clock_.enter(Phase::allocate);
        const std::uint32_t limit = limit_for(open);
        if (!failed && piece.count > limit && piece.split.axis < Split::kMakeLeaf &&
            enlarge(piece, chunk_for(open))) {
            return;
        }
        if (leader()) state.open.ref().count_relaxed(0U - piece.count);
        tasks_.enlist(piece);
        if (work_.finish()) tasks_.end_list();
    }

    /// Collective: makes a piece a large node, of chunks of so many references, and enters these.
    /// False: there is no room for it, or no memory for its children.
    HEAPWOOD_FN bool enlarge(const Piece& piece, std::uint32_t chunk) {
        // The chunks are of about the same size.
        chunk =
            whole_rounds(platform::ceil_div(piece.count, platform::ceil_div(piece.count, chunk)));
        const std::uint32_t chunks = platform::ceil_div(piece.count, chunk);
        std::uint64_t before = 0;
        if (leader()) {
            before = platform::AtomicRef(problem_.state->large)
                         .add_relaxed(std::uint64_t{1} << 32 | (chunks + 2));
        }
        before = warp_.shuffle(before, 0);
        const auto number = static_cast<std::uint32_t>(before >> 32);
        if (number >= problem_.large_capacity ||
            static_cast<std::uint32_t>(before) + chunks + 2 > problem_.work_capacity) {
            return false;
        }
        // On its way while memory is asked for.
        const std::uint32_t place = leader() ? work_.take_places(chunks) : 0;
        Reference* arrays[2] = {nullptr, nullptr};
        if (!arrays_.allocate_children(piece.split, output_, arrays)) {
            work_.enter(place, chunks, [&](std::uint32_t) { return work_.kNothing; });
            return false;
        }
        LargeNode& node = problem_.large_nodes[number];
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
            node.chunks.value = chunks;
        }
        clear_bins(warp_, node.bins[0]);
        clear_bins(warp_, node.bins[1]);
        work_.enter(place, chunks, [&](std::uint32_t i) { return LargeWork{number, i}.word(); });
        return true;
    }

    /// References below which a further warp costs more than it helps. (A smaller
    /// BuildConfig::chunk goes first.)
    static constexpr std::uint32_t kSmallestChunk = W::width == 1 ? 1024 : 32;
    /// With fewer open references for each warp it is late: this stage takes longer than the second
    /// would take for them. Only children so many times as large as others are still divided
    /// together.
    static constexpr std::uint32_t kLateShare = 8;
    static constexpr std::uint32_t kLateFactor = 8;
    /// With fewer open references for each warp half of the warps are enough for them.
    static constexpr std::uint32_t kFewShare = 256;

    const W warp_;
    const Team team_;
    const Problem& problem_;
    Scratch<W>& scratch_;
    BuildOutput<W>& output_;
    NodeArraysOf& arrays_;
    WarpTasks<W>& tasks_;
    PhaseClock<W>& clock_;
    GridBarrier<W, Team> barrier_;
    const WorkList<W> work_;
    const bool helps_;
};

}  // namespace heapwood::kdtree
