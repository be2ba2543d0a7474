/// @file
/// A film as a picture for the eye.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/render/pictures/colours.h"
#include "app/render/render.h"

namespace heapwood::app {

/// What colours stand for, in modes that show a number.
struct ColourScale {
    const char* title;
    float least;
    float most;  ///< and all above: of a thousand pixels at most one shows more
};

/// Colours row after row from the upper left corner.
struct Picture {
    unsigned width = 0;
    unsigned height = 0;
    std::vector<Colour> pixels;
    std::optional<ColourScale> scale;
};

/// The weight of a triangle test in the mode `cost`; a node has 1, as in SAH(1, 1.5).
inline constexpr float kTestCost = 1.5F;

/// What a ray from the eye takes in the mode `cost`, over all pixels.
struct MeanEffort {
    double nodes = 0;
    double leaves = 0;
    double tests = 0;
};
MeanEffort mean_effort(const Film& film);

/// Light of paths is exposed so that half of the pixels are darker than a middle grey; numbers have
/// a legend, if there is room.
Picture picture_of(const Film& film, Mode mode);

}  // namespace heapwood::app
