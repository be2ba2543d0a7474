/// @file
/// The searches of the circular allocators, first fit: in a few stretches of the pool that others
/// seldom look at, and in the whole ring.
///
/// **Progress.** No loop waits for another thread. A step goes forward or follows a chunk that
/// another has won, and their number is bounded. A refusal costs one traversal to the sentinel and
/// two from chunk 0 (four with separate words), and is not remembered: a memo would have to learn
/// of every free. An inconclusive search ends after Policy::kPatience steps; with a single hint, if
/// its last traversal met a chunk that was large enough, but that another was quicker to take, or
/// has not given the rest of back yet, or dead headers that may have hidden one, only after
/// Policy::kPersistence: then others make progress, and its turn comes.
///
/// **Against the original**, beside the table: chunks that are too small are never marked, not even
/// for a moment; merging goes on over more than one free successor; before the pool is called full,
/// one traversal merges adjacent free chunks, since chunks freed in ascending order find no free
/// successor when they are freed; a failure is nullptr, not the pool's start; pools above 4 GiB.
/// The original lets all who lost a chunk to another march on behind one another, a chunk a step;
/// here they move to another hint. A hint goes back to what is freed as well as on past what is
/// taken. Where every multiprocessor has hints of its own, a hint stays within a stretch of the
/// pool (cut_shares() in layout.h), over whose ends freed blocks do not merge; a request searches
/// some stretches, one for a large chunk all there is for these up to kMostLooks times, and only
/// then the whole ring.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/detours.cuh"
#include "allocators/circular/header.cuh"
#include "allocators/circular/homes.cuh"
#include "allocators/circular/ring.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::circular {

/// What a search answers if there is no chunk that is large enough, and if it cannot tell.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};
inline constexpr std::uint32_t kUnsure = kNone - 1;

/// How many times a large request looks through all that there is for large ones: a traversal of
/// the whole ring takes a GPU milliseconds, and whoever is quicker soon gives back the rest.
inline constexpr std::uint32_t kMostLooks = 64;
/// A search whose traversals are all inconclusive ends after this many of them, if it has made
/// Policy::kPatience steps as well.
inline constexpr std::uint32_t kMostTraversals = 8;

/// Searches a few stretches. @return where the block starts, or kNone
template <bool kAligned, class Policy>
HEAPWOOD_FN std::uint32_t find_at_home(const Ring<Policy>& ring, const Homes<Policy>& homes,
                                       const Context& context, const Request& request) {
    const std::uint32_t need = request.need;
    const std::uint32_t size = kAligned ? homes.aligned_size(need) : need;
    const bool large = homes.is_large(size);
    for (std::uint32_t move = 0; move < (large ? kMostLooks : kMostMoves); ++move) {
        const Home home = homes.home_of(context, size, move);
        const std::uint32_t start = homes.hint(home).load_relaxed();
        std::uint32_t at = start;
        std::uint32_t stop = home.end;
        unsigned leg = 0;  // to the end; from the begin to the start; on behind the end
        for (std::uint32_t step = 0; large || step < kMostSteps; ++step) {
            Policy::pause();
            Header h = ring.load(at);
            if (h.state == kFree && fits<kAligned>(at, h.next, need)) {
                if (ring.template take<kAligned>(at, h, need)) {
                    const Grant grant =
                        ring.template grant<kAligned>(at, h.next, request, CutNothing{});
                    homes.remember_taken(home, grant.past);
                    return grant.at;
                }
                if (!large) break;
            }
            // A lost compare-and-swap has left the winner's header in h.
            at = h.next;
            if (at == 0) break;  // not yet visible
            for (; at >= stop && leg < (large ? 1 : 2); ++leg) {
                at = leg == 0 ? home.begin : home.end;
                stop = leg == 0 ? start : ring.granules();
            }
            if (at >= stop) break;
        }
        if (large) platform::back_off(move);
    }
    return kNone;
}

/// Searches the whole ring, from a hint on. Detour (detours.cuh) says where that hint is, and
/// whether the search moves to another hint.
/// @return where the block starts, or kNone, or kUnsure if the search was inconclusive
template <bool kAligned, class Policy, class Detour>
HEAPWOOD_FN std::uint32_t find_in_ring(const Ring<Policy>& ring, Detour detour,
                                       const Request& request) {
    const std::uint32_t need = request.need;
    std::uint32_t at = detour.start();
    std::uint32_t traversals = 0;     // begun at chunk 0
    std::uint32_t confirmations = 0;  // that the pool is full
    bool conclusive = false;
    bool hopeful = false;  // a large enough chunk was there, or may have been
    for (std::uint32_t steps = 0;; ++steps) {
        Policy::pause();
        Header h = ring.load(at);
        if (h.state == kFree || h.state == kUnsettled) {
            const bool free = h.state == kFree;
            if (fits<kAligned>(at, h.next, need)) {
                if (free && ring.template take<kAligned>(at, h, need)) {
                    const Grant grant = ring.template grant<kAligned>(
                        at, h.next, request, [&](std::uint32_t from, std::uint32_t end) {
                            return detour.cut(from, end, need);
                        });
                    detour.remember_taken(grant.past);
                    return grant.at;
                }
                conclusive = false;
                hopeful = true;
                if constexpr (Detour::kMoves) {
                    if (steps >= Policy::kPersistence) return kUnsure;
                    platform::back_off(traversals);
                    at = detour.after_loss(steps);
                    continue;
                }
            } else if (!free) {
                conclusive = false;
            } else if (traversals >= 2 && ring.load(h.next).state == kFree) {
                if (ring.take_to_merge(at, h)) {
                    Policy::pause();
                    const std::uint32_t end =
                        ring.merge(h.next, ring.load(h.next), start_in<kAligned>(at, need) + need,
                                   ring.granules());
                    if (fits<kAligned>(at, end, need)) {
                        const Grant grant =
                            ring.template grant<kAligned>(at, end, request, CutNothing{});
                        detour.remember_taken(grant.past);
                        return grant.at;
                    }
                    ring.give(at, end);
                    at = end;
                    continue;
                }
                conclusive = false;
            }
        } else if (h.state != kUsed) {
            conclusive = false;
            if (h.next - at >= need) hopeful = true;
        }
        if (detour.moves_on(steps, h.next == 0, at)) {
            conclusive = false;
            continue;
        }
        // A lost compare-and-swap has left the winner's header in h: it leads forward as well.
        if (h.next != 0) {
            at = h.next;
            continue;
        }
        // Only the sentinel ends the ring; a header that is not yet visible does not.
        if (at != ring.granules()) {
            conclusive = false;
            hopeful = true;
        }
        confirmations = conclusive && traversals >= 2 ? confirmations + 1 : 0;
        if (confirmations == Policy::Headers::kConfirmations) return kNone;
        if (traversals >= kMostTraversals && steps >= Detour::patience(hopeful)) return kUnsure;
        if (traversals > 0 && (!conclusive || Policy::Headers::kConfirmations > 1)) {
            platform::back_off(traversals);
        }
        ++traversals;
        conclusive = true;
        hopeful = false;
        at = 0;
    }
}

}  // namespace heapwood::allocators::circular
