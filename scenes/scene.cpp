#include "scenes/scene.h"

#include <cstddef>
#include <new>

#include "scenes/generators.h"
#include "scenes/obj/obj_loader.h"
#include "scenes/obj/piece.h"
#include "scenes/obj/scene_list.h"
#include "scenes/zero_area.h"

namespace heapwood::scenes {
namespace {

Scene load_list(const std::string& name) {
    Scene scene;
    for (const ListedScene& listed : read_list(name)) {
        with_place(listed, [&](const std::string& one) { append(scene, load(one)); });
    }
    scene.path = name;
    finish(scene);
    return scene;
}

}  // namespace

void finish(Scene& scene) {
    // Adding +0 turns -0 into +0 and leaves every other value alone.
    for (glm::vec3& p : scene.positions) p = {p.x + 0.0f, p.y + 0.0f, p.z + 0.0f};
    scene.degenerate = 0;
    scene.bounds = {};
    bool first = true;
    for (const glm::uvec3& triangle : scene.triangles) {
        const glm::vec3& a = scene.positions[triangle.x];
        const glm::vec3& b = scene.positions[triangle.y];
        const glm::vec3& c = scene.positions[triangle.z];
        if (has_zero_area(a, b, c)) ++scene.degenerate;
        if (first) scene.bounds = {a, a};
        first = false;
        for (const glm::vec3* p : {&a, &b, &c}) {
            for (int axis = 0; axis != 3; ++axis) {
                if ((*p)[axis] < scene.bounds.lo[axis]) scene.bounds.lo[axis] = (*p)[axis];
                if ((*p)[axis] > scene.bounds.hi[axis]) scene.bounds.hi[axis] = (*p)[axis];
            }
        }
    }
}

std::vector<bool> used_positions(const std::vector<glm::uvec3>& triangles, std::size_t positions) {
    std::vector<bool> used(positions);
    for (const glm::uvec3& t : triangles) used[t.x] = used[t.y] = used[t.z] = true;
    return used;
}

Scene load(const std::string& name) {
    if (name.empty()) throw SceneError("a scene needs a name: a path or gen:NAME:TRIANGLES[:SEED]");
    try {
        if (is_generator(name)) {
            Scene scene = generate(parse_generator(name));
            scene.path = name;
            return scene;
        }
        if (is_list(name)) return load_list(name);
        return load_obj(name);
    } catch (const std::bad_alloc&) {
        throw SceneTooLarge(name + ": does not fit into this machine's memory");
    }
}

}  // namespace heapwood::scenes
