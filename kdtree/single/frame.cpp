#include "kdtree/single/frame.cuh"

namespace heapwood::kdtree {

std::string explain_faults(std::uint32_t faults) {
    std::string what;
    const auto add = [&](std::uint32_t fault, const char* sentence) {
        if ((faults & fault) != 0) what += (what.empty() ? "" : "; ") + std::string(sentence);
    };
    add(kOutsideBounds,
        "the frame has a coordinate that is not finite or lies outside its bounds: give it a box "
        "that holds all triangles");
    add(kNoSuchPosition, "the frame has a triangle with a corner that is not among its positions");
    add(kTooFine,
        "the frame has coordinates of too many magnitudes for a build in place: build it as a "
        "scene");
    return what;
}

}  // namespace heapwood::kdtree
