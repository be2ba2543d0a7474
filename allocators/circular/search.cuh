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
/// pool (cut_shares() in layout.h), over whose ends freed blocks do not merge. A request searches
/// its own share; those of others while it loses chunks; where there is no room, what there is for
/// large requests, and by turns the shares of others; and only then the whole ring. A large request
/// begins with what there is for large ones, and looks again, up to kMostLooks times, where others
/// were quicker.
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

/// How many times a request looks through what there is for large ones if it loses chunks there: a
/// traversal of the whole ring takes a GPU milliseconds, and whoever is quicker soon gives back the
/// rest.
inline constexpr std::uint32_t kMostLooks = 64;
/// A search whose traversals are all inconclusive ends after this many of them, if it has made
/// Policy::kPatience steps as well.
inline constexpr std::uint32_t kMostTraversals = 8;

/// How a search from a hint has ended.
struct Found {
    std::uint32_t at = kNone;  ///< where the block starts
    std::uint32_t past = 0;    ///< where what was taken ends
    bool lost = false;         ///< another was quicker, or has not given the rest back yet
};

/// Searches a home from a hint on, `most` headers of it at most, and then some that lie behind it,
/// if `beyond`. cut() as Ring::grant()'s.
template <bool kAligned, class Policy, class Cut>
HEAPWOOD_INLINE Found find_at(const Ring<Policy>& ring, const Home& home, std::uint32_t start,
                              const Request& request, std::uint32_t most, bool beyond, Cut cut) {
    Found found;
    std::uint32_t at = start;
    std::uint32_t stop = home.end;
    unsigned leg = 0;  // to the end; from the begin to the start; on behind the end
    for (std::uint32_t step = 0; step < most; ++step) {
        Policy::pause();
        Header h = ring.load(at);
        if (h.state == kFree && fits<kAligned>(at, h.next, request.need)) {
            if (ring.template take<kAligned>(at, h, request.need)) {
                const Grant grant = ring.template grant<kAligned>(at, h.next, request, cut);
                found.at = grant.at;
                found.past = grant.past;
                return found;
            }
            found.lost = true;
            if (beyond) return found;
        }
        if (!beyond && h.state == kUnsettled) found.lost = true;
        // A lost compare-and-swap has left the winner's header in h.
        at = h.next;
        if (at == 0) return found;  // not yet visible
        for (; at >= stop && leg < (beyond ? 2 : 1); ++leg) {
            at = leg == 0 ? home.begin : home.end;
            stop = leg == 0 ? start : ring.granules();
        }
        if (at >= stop) return found;
    }
    return found;
}

/// Searches the stretch of a share: the caller's own, or after so many moves another's.
template <bool kAligned, class Policy>
HEAPWOOD_INLINE Found look_in_share(const Ring<Policy>& ring, const Homes<Policy>& homes,
                                    const Context& context, const Request& request,
                                    std::uint32_t size, std::uint32_t move) {
    const Home home = homes.home_of(context, size, move);
    const Found found = find_at<kAligned>(ring, home, homes.hint(home).load_relaxed(), request,
                                          kMostSteps, true, CutNothing{});
    if (found.at != kNone) homes.remember_taken(home, found.past);
    return found;
}

/// Searches the caller's share, and those of others as long as it loses chunks. Finds nothing for a
/// large request.
template <bool kAligned, class Policy>
HEAPWOOD_FN Found find_at_home(const Ring<Policy>& ring, const Homes<Policy>& homes,
                               const Context& context, const Request& request) {
    const std::uint32_t size = kAligned ? homes.aligned_size(request.need) : request.need;
    Found found;
    if (homes.is_large(size)) return found;
    for (std::uint32_t move = 0; move < kMostMoves; ++move) {
        found = look_in_share<kAligned>(ring, homes, context, request, size, move);
        if (found.at != kNone || !found.lost) break;
    }
    return found;
}

/// Searches the chunk for large requests: from the annex of a share, or from the hint that is
/// common to all, where an annex is cut off.
template <bool kAligned, class Policy>
HEAPWOOD_FN Found look_among_large(const Ring<Policy>& ring, const Homes<Policy>& homes,
                                   const Context& context, const Request& request, bool large,
                                   std::uint32_t look) {
    const Home common = homes.large_home();
    if (common.begin == common.end) return {};
    const Home annex = homes.annex_of(context, look);
    // A large request has none before it has lost a chunk.
    const bool annexes = !large || look > 0;
    const std::uint32_t start = annexes ? homes.hint(annex).load_relaxed() : 0;
    if (start != 0) {
        const Found found =
            find_at<kAligned>(ring, annex, start, request, kMostSteps / 4, false, CutNothing{});
        if (found.at != kNone) {
            homes.remember_taken(annex, found.past);
            return found;
        }
    }
    std::uint32_t rest = 0;  // what is left behind the annex
    const auto cut = [&](std::uint32_t from, std::uint32_t end) {
        const std::uint32_t middle = homes.end_of_annex(request.need, from, end);
        if (!annexes || middle == end) return end;
        rest = middle;
        Policy::pause();
        ring.give(rest, end);
        return rest;
    };
    const Found found = find_at<kAligned>(ring, common, homes.hint(common).load_relaxed(), request,
                                          large ? ~std::uint32_t{0} : kMostSteps, false, cut);
    if (found.at != kNone) {
        homes.remember_taken(common, rest != 0 ? rest : found.past);
        if (rest != 0) homes.remember_taken(annex, found.past);
    }
    return found;
}

/// Searches what there is for large requests, and by turns the shares of others; looks `most` times
/// at most. @return where the block starts, or kNone
template <bool kAligned, class Policy>
HEAPWOOD_FN std::uint32_t find_away(const Ring<Policy>& ring, const Homes<Policy>& homes,
                                    const Context& context, const Request& request,
                                    std::uint32_t most) {
    const std::uint32_t size = kAligned ? homes.aligned_size(request.need) : request.need;
    const bool large = homes.is_large(size);
    for (std::uint32_t look = 0; look < most; ++look) {
        Found found = look_among_large<kAligned>(ring, homes, context, request, large, look);
        const bool lost = found.lost;
        const bool moves = !large && look + 1 < kMostMoves && look + 1 < homes.shares();
        if (found.at == kNone && moves) {
            found = look_in_share<kAligned>(ring, homes, context, request, size, look + 1);
        }
        if (found.at != kNone) return found.at;
        if (lost) {
            platform::back_off(look);
        } else if (!moves) {
            return kNone;
        }
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
