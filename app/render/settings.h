/// @file
/// What a picture is to show, and how.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heapwood::app {

/// What a pixel shows.
enum class Mode {
    shaded,             ///< direct light with shadows, and some from the eye
    normal,             ///< the surface's direction, as a colour
    depth,              ///< distance from the eye along the direction of view
    ambient_occlusion,  ///< how much of what is above a surface is free nearby
    path,               ///< light over several bounces, and the sky's
    cost,               ///< nodes and triangle tests that a ray takes
    leaf_size,          ///< references in the leaf in which the ray's first hit lies
    leaf_depth,         ///< that leaf's depth in the tree
};

/// The modes' names on the command line.
struct ModeName {
    Mode mode;
    std::string_view name;
    unsigned samples;  ///< a pixel's, if nobody says how many
};
inline constexpr std::array<ModeName, 8> kModes{{{Mode::shaded, "shaded", 4},
                                                 {Mode::normal, "normal", 1},
                                                 {Mode::depth, "depth", 1},
                                                 {Mode::ambient_occlusion, "ambient-occlusion", 32},
                                                 {Mode::path, "path", 64},
                                                 {Mode::cost, "cost", 1},
                                                 {Mode::leaf_size, "leaf-size", 1},
                                                 {Mode::leaf_depth, "depth-of-tree", 1}}};

inline const ModeName& name_of(Mode mode) {
    return kModes[static_cast<std::size_t>(mode)];
}

/// How a picture is made.
struct RenderSettings {
    Mode mode = Mode::shaded;
    unsigned width = 960;
    unsigned height = 540;
    std::uint32_t samples = 0;  ///< rays from the eye for a pixel; 0: what suits the mode
    unsigned bounces = 3;       ///< of a path, at most kMostBounces
    float occlusion_reach =
        0.1F;  ///< of rays for ambient occlusion, in parts of the box's diagonal
    std::uint32_t seed = 0;
    unsigned threads = 0;  ///< CPU only; 0: one a core

    std::uint32_t samples_or_default() const {
        return samples > 0 ? samples : kModes[static_cast<std::size_t>(mode)].samples;
    }
};

/// More would see the same random numbers twice.
inline constexpr unsigned kMostBounces = 20;

}  // namespace heapwood::app
