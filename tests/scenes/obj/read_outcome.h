/// @file
/// What came of reading an OBJ, to compare.
#pragma once

#include <string>

#include "scenes/digest.h"
#include "scenes/obj/obj_loader.h"
#include "scenes/scene.h"

namespace heapwood::scenes {

/// All of a scene in one line, or the sentence of the error.
inline std::string read_outcome(const std::string& path, unsigned threads,
                                const ObjReading& reading) {
    try {
        const Scene scene = load_obj(path, threads, reading);
        std::string text = scene.path + ": digest " + std::to_string(digest(scene)) +
                           ", vertices " + std::to_string(scene.positions.size()) + ", triangles " +
                           std::to_string(scene.triangles.size()) + ", zero area " +
                           std::to_string(scene.degenerate) + ", overlapping " +
                           std::to_string(scene.overlapping) + ", box";
        for (const glm::vec3& corner : {scene.bounds.lo, scene.bounds.hi}) {
            for (const float x : {corner.x, corner.y, corner.z}) text += " " + std::to_string(x);
        }
        return text;
    } catch (const SceneError& error) {
        return error.what();
    }
}

}  // namespace heapwood::scenes
