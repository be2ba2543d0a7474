/// @file
/// What a picture is to show, and how.
#pragma once

#include <cstddef>
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
    distance,           ///< how far the nearest surface is, in a plane before the eye
};

/// What is known of a mode wherever it is named.
struct ModeFacts {
    Mode mode;
    std::string_view name;      ///< on the command line
    std::string_view help;      ///< what a pixel shows, if the name does not say it
    unsigned samples;           ///< a pixel's, if the user does not say how many
    const char* channels[3]{};  ///< a pixel's numbers in EXR files
    const char* scale{};        ///< title of the legend; nullptr: the picture has no legend
    bool from_zero = false;     ///< the scale begins at 0, not at the least number
    bool of_tree = false;       ///< rays and what they meet in the tree are counted together
};

/// In the order of Mode. Beside a line here a mode has a stage (stages.cuh), and if it is neither
/// light nor a number, its colours (pictures/picture.cpp).
inline constexpr ModeFacts kModes[]{
    {Mode::shaded, "shaded", "", 4, {"R", "G", "B"}},
    {Mode::normal, "normal", "", 1, {"R", "G", "B"}},
    {Mode::depth, "depth", "", 1, {"Z"}, "depth"},
    {Mode::ambient_occlusion, "ambient-occlusion", "", 32, {"Y"}},
    {Mode::path, "path", "light over several bounces", 64, {"R", "G", "B"}},
    {.mode = Mode::cost,
     .name = "cost",
     .help = "nodes and tests a ray",
     .samples = 1,
     .channels = {"nodes", "leaves", "tests"},
     .scale = "nodes + 1.5 tests",
     .from_zero = true,
     .of_tree = true},
    {.mode = Mode::leaf_size,
     .name = "leaf-size",
     .help = "of the leaf that is seen",
     .samples = 1,
     .channels = {"Y"},
     .scale = "references in leaf",
     .from_zero = true,
     .of_tree = true},
    {.mode = Mode::leaf_depth,
     .name = "depth-of-tree",
     .help = "of the leaf that is seen",
     .samples = 1,
     .channels = {"Y"},
     .scale = "depth of leaf",
     .of_tree = true},
    {.mode = Mode::distance,
     .name = "distance",
     .help = "to the nearest surface, from the plane of --look-at that faces the eye",
     .samples = 1,
     .channels = {"Y"},
     .scale = "distance",
     .from_zero = true}};

inline const ModeFacts& facts_of(Mode mode) {
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
        return samples > 0 ? samples : facts_of(mode).samples;
    }
};

/// More would see the same random numbers twice.
inline constexpr unsigned kMostBounces = 20;

}  // namespace heapwood::app
