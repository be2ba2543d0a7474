/// @file
/// What `trace` found out: plain data, and when a tree pays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/measure/builds/report.h"
#include "app/measure/rays/rays.h"

namespace heapwood::app {

/// What is asked about rays, or points.
enum class Asked {
    closest,  ///< the first hit
    any,      ///< whether there is a hit
    all,      ///< all hits, front to back
    nearest,  ///< of a point: the nearest point of all triangles
};

/// "closest", "any", "all", "nearest".
const char* name(Asked asked);

/// The share of one GPU of several.
struct DeviceTimes {
    std::uint32_t device = 0;  ///< by CUDA's number
    std::uint64_t rays = 0;
    std::vector<double> samples;  ///< milliseconds

    double rays_per_second() const;
};

/// The rays of one kind through one tree, or the points of one kind.
struct RayTimes {
    std::string kind;
    Asked asked = Asked::closest;
    std::uint64_t rays = 0;  ///< 0: no ray of this kind exists, and no sample
    /// Rays that meet anything; of all hits, how many there are; of points, those with an answer.
    std::uint64_t hits = 0;
    std::vector<double> samples;  ///< milliseconds for all the rays
    /// Of all answers in the rays' order, whoever gave them; none: unknown.
    std::optional<std::uint64_t> digest = {};
    std::vector<DeviceTimes> devices = {};  ///< of several GPUs that share the rays

    double rays_per_second() const;
    /// What a reader of the rate must know: that there are no such rays, or that few of them meet
    /// anything; empty: nothing.
    std::string note() const;
};

/// Milliseconds until the results of rays are there, on the average over as many closest and any
/// hits of each kind; without points.
struct TimeToRays {
    double cost_ms = 0;     ///< before the first ray
    double ms_per_ray = 0;  ///< for each

    double ms_to(double rays) const { return cost_ms + rays * ms_per_ray; }
};

/// Milliseconds that a ray takes, on that average.
double ms_per_ray(const std::vector<RayTimes>& times);

/// A tree that is laid out where it was built, of triangles that lie there: nothing of them passes
/// the host.
struct InPlaceTree {
    std::vector<double> build_ms;   ///< until the build is done, samples
    std::vector<double> layout_ms;  ///< from there until rays can be traced
    std::uint64_t bytes = 0;        ///< of the layout
    /// Until all first hits of the primary rays are there, in one go: build, layout and rays follow
    /// one another on one stream.
    std::vector<double> first_rays_ms;
    std::vector<RayTimes> times;

    TimeToRays time() const;
};

/// Primary rays through the frames of an animation, by one builder, where its trees are built.
struct AnimatedRays {
    std::uint64_t frames = 0;
    std::uint64_t rays = 0;               ///< of each frame, the same
    std::uint64_t hits = 0;               ///< of all frames together
    std::uint64_t digest = 0;             ///< of all answers, frame after frame
    std::vector<double> rebuild_ms = {};  ///< of each frame, until the build is done, samples
    std::vector<double> frame_ms = {};    ///< until the frame's first hits are there

    double frames_per_second() const;
};

/// A tree, what it took to make it, and the rays through it.
struct TracedTree {
    std::string name;    ///< of the allocator or method that built it, or "embree"
    std::string preset;  ///< that its parameters began with; empty: not our tree
    Result build;
    double layout_ms = 0;         ///< from the tree in the host's memory to one that rays can read
    std::uint64_t bytes = 0;      ///< of that; 0: unknown
    std::vector<RayTimes> times;  ///< none if there is no tree
    std::optional<InPlaceTree> in_place = {};  ///< the same tree, if it was measured there, too
    std::optional<AnimatedRays> animated = {};

    /// Of building, by the median, layout, and rays.
    TimeToRays time() const;
};

/// For how many rays one tree's results are there before another's: more than `from`, fewer than
/// `to`; nothing: for none.
struct Payoff {
    double from = 0;
    std::optional<double> to;  ///< none: for any number
};
std::optional<Payoff> payoff(const TimeToRays& tree, const TimeToRays& other);

/// Everything one call of `trace` found out.
struct RayReport {
    Report origin;                      ///< scene, machine and settings; no results
    RayOptions options;                 ///< with as many rays as a square picture has
    std::optional<Camera> camera = {};  ///< where primary rays come from; none: no tree was traced
    std::vector<TracedTree> trees;
};

}  // namespace heapwood::app
