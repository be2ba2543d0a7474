/// @file
/// Large nodes, which many warps divide together, chunk by chunk: jobs.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/single/division.cuh"
#include "kdtree/single/warp_tasks.cuh"

namespace heapwood::kdtree {

/// One warp's part in jobs. It has no state of its own.
template <platform::Warp W>
class Jobs {
public:
    /// Refers to its arguments.
    HEAPWOOD_FN Jobs(const W& warp, const Problem& problem, Scratch<W>& scratch)
        : warp_(warp), problem_(problem), scratch_(scratch) {}

    /// Collective: makes the first job, which makes the root's references in `array`. No other warp
    /// knows of it yet.
    HEAPWOOD_FN void make_root_job(Job& job, Reference* array, const WarpTasks<W>& tasks) const {
        if (leader()) {
            job.piece.references = array;
            job.piece.count = problem_.count;
            job.piece.node = 0;
            job.piece.cell = problem_.bounds;
            job.piece.depth = 0;
            job.piece.bad_splits = 0;
            job.piece.split = Split{};
            job.piece.tight = problem_.bounds;
            // It has no children, but the warp that finishes it copies all fields.
            job.child_references[0] = job.child_references[1] = nullptr;
            job.child_node = 0;
            job.makes_root = true;
            job.frames[0] = job.frames[1] = BinFrame::of(problem_.bounds, problem_.grid);
            BuildState& state = *problem_.state;
            state.nodes = 1;  // counts pairs: the root and a sibling that is not used
            state.jobs.value = 1;
            state.outstanding.value = 1;
        }
        prepare(job, tasks.idle());
    }

    /// Collective: makes a job of a piece that is ready to be divided, and invites idle warps.
    /// nullptr: there are as many jobs as may be, and the piece goes on as a medium one.
    HEAPWOOD_FN Job* make(const Piece& piece, const Division& division, WarpTasks<W>& tasks) const {
        BuildState& state = *problem_.state;
        std::uint32_t number = 0;
        if (leader()) number = state.jobs.ref().add_relaxed(1);
        tasks.look_around();
        number = warp_.shuffle(number, 0);
        if (number >= problem_.job_capacity) return nullptr;
        Job& job = problem_.jobs[number];
        if (leader()) {
            job.piece = piece;
            job.child_references[0] = division.arrays[0];
            job.child_references[1] = division.arrays[1];
            job.child_node = division.node;
            job.makes_root = false;
            job.frames[0] = scratch_.frames[0];
            job.frames[1] = scratch_.frames[1];
            state.outstanding.ref().add_relaxed(1);
        }
        prepare(job, tasks.idle());
        warp_.sync();
        tasks.invite_to(job, job.chunks);
        return &job;
    }

    /// Collective: takes a chunk of a job and makes ready to divide it; the root's it fills at
    /// once. False: none is left.
    HEAPWOOD_FN bool take_chunk(Job& job, Piece& piece, Division& division,
                                WarpTasks<W>& tasks) const {
        std::uint32_t chunk = 0;
        if (leader()) chunk = job.next_chunk.ref().add_relaxed(1);
        tasks.look_around();
        chunk = warp_.shuffle(chunk, 0);
        if (chunk >= job.chunks) return false;
        // Each helper brings others, so that their number grows by powers; and again at every
        // chunk, for at the first there may have been nobody idle.
        tasks.invite_to(job, job.chunks - chunk);
        const std::uint32_t begin = chunk * job.chunk;
        const std::uint32_t rest = job.piece.count - begin;
        const std::uint32_t end = begin + (rest < job.chunk ? rest : job.chunk);
        if (tasks.failed()) return true;
        if (job.makes_root) {
            fill_root_chunk(job, begin, end);
            return true;
        }
        piece.references = job.piece.references;
        piece.split = job.piece.split;
        division.begin = begin;
        division.end = end;
        division.arrays[0] = job.child_references[0];
        division.arrays[1] = job.child_references[1];
        reserve_parts(job, division);
        clear_bins(warp_, scratch_.bins[0]);
        clear_bins(warp_, scratch_.bins[1]);
        if (leader()) {
            scratch_.frames[0] = job.frames[0];
            scratch_.frames[1] = job.frames[1];
        }
        warp_.sync();
        return true;
    }

    /// Collective: adds what a chunk has brought to the job. True for the last chunk, whose warp
    /// goes on with the job: `piece` becomes the job's, which has become the warp's own.
    HEAPWOOD_FN bool finish_chunk(Job& job, Piece& piece, Division& division,
                                  WarpTasks<W>& tasks) const {
        if (division.begin < division.end) {
            if (piece.split.left > problem_.exact_limit)
                add_bins(warp_, job.bins[0], scratch_.bins[0]);
            if (piece.split.right > problem_.exact_limit)
                add_bins(warp_, job.bins[1], scratch_.bins[1]);
        }
        warp_.sync();
        bool last = false;
        // Releases this warp's part of the arrays and bins; the last one acquires all parts.
        if (leader()) last = job.remaining.ref().sub_acq_rel(1) == 1;
        if (!warp_.any(last)) return false;
        complete(job, piece, division, tasks);
        return true;
    }

private:
    /// References of a job below which a further warp costs more than it helps. (A smaller
    /// BuildConfig::chunk goes first.)
    static constexpr std::uint32_t kSmallestChunk = W::width == 1 ? 1024 : 128;

    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }

    /// How many references of a job a warp takes at a time: few while there are idle warps to take
    /// the others.
    HEAPWOOD_INLINE std::uint32_t chunk_of(std::uint32_t count, std::uint32_t idle) const {
        const auto even = platform::round_up<std::uint32_t>(count / (idle + 1) + 1, kSmallestChunk);
        return even < problem_.chunk ? even : problem_.chunk;
    }

    /// Zeroes a job's counters and bins.
    HEAPWOOD_FN void prepare(Job& job, std::uint32_t idle) const {
        if (leader()) {
            job.chunk = chunk_of(job.piece.count, idle);
            job.chunks = platform::ceil_div(job.piece.count, job.chunk);
            job.next_chunk.value = 0;
            job.invited.value = 0;
            job.used[0].value = 0;
            job.used[1].value = 0;
            job.remaining.value = job.chunks;
        }
        clear_bins(warp_, job.bins[0]);
        clear_bins(warp_, job.bins[1]);
    }

    HEAPWOOD_MAY_CALL_HOST
    HEAPWOOD_FN void fill_root_chunk(Job& job, std::uint32_t begin, std::uint32_t end) const {
        const bool bin = job.piece.count > problem_.exact_limit;
        clear_bins(warp_, scratch_.bins[0]);
        if (leader()) scratch_.frames[0] = job.frames[0];
        warp_.sync();
        fill_root(warp_, problem_.triangles, begin, end, job.piece.references, bin,
                  scratch_.bins[0], scratch_.frames[0]);
        warp_.sync();
        if (bin) add_bins(warp_, job.bins[0], scratch_.bins[0]);
    }

    /// Collective: reserves places in the children's arrays for a chunk's references.
    HEAPWOOD_FN void reserve_parts(Job& job, Division& division) const {
        std::uint32_t parts[2];
        count_sides(warp_, {job.piece.references, division.begin, division.end, job.piece.split},
                    parts);
        std::uint64_t start[2];
        by_two_lanes(warp_, start, [&](unsigned side) {
            return (side == 0 ? job.used[0] : job.used[1])
                .ref()
                .add_relaxed(side == 0 ? parts[0] : parts[1]);
        });
        division.used[0] = static_cast<std::uint32_t>(start[0]);
        division.used[1] = static_cast<std::uint32_t>(start[1]);
    }

    /// What the last finisher of a job does.
    HEAPWOOD_FN void complete(const Job& job, Piece& piece, Division& division,
                              WarpTasks<W>& tasks) const {
        warp_.sync();  // what lane 0 acquired from the other warps, to all lanes
        tasks.take_credit();
        tasks.share_soon();
        // A warp that skipped its chunk had seen the failure, and released that with its part.
        tasks.look_around();
        piece = job.piece;
        division.whole = job.makes_root;
        division.to_do = job.makes_root ? 1 : 3;
        division.node = job.child_node;
        division.arrays[0] = job.child_references[0];
        division.arrays[1] = job.child_references[1];
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) {
            copy_bins(warp_, scratch_.bins[side], job.bins[side]);
            if (leader()) scratch_.frames[side] = job.frames[side];
        }
        warp_.sync();
    }

    const W warp_;
    const Problem& problem_;
    Scratch<W>& scratch_;
};

}  // namespace heapwood::kdtree
