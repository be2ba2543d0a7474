/// @file
/// A scene by its name, whichever way it is made.
#include <new>

#include "scenes/generators.h"
#include "scenes/obj/obj_loader.h"
#include "scenes/pieces.h"
#include "scenes/scene.h"
#include "scenes/scene_list.h"

namespace heapwood::scenes {
namespace {

Scene load_list(const std::string& name, unsigned threads) {
    Scene scene;
    for (const ListedScene& listed : read_list(name)) {
        with_place(listed, [&](const std::string& one) { append(scene, load(one, threads)); });
    }
    scene.path = name;
    finish(scene, threads);
    return scene;
}

}  // namespace

Scene load(const std::string& name, unsigned threads) {
    if (name.empty()) throw SceneError("a scene needs a name: a path or gen:NAME:TRIANGLES[:SEED]");
    try {
        if (is_generator(name)) {
            Scene scene = generate(parse_generator(name));
            scene.path = name;
            return scene;
        }
        if (is_list(name)) return load_list(name, threads);
        return load_obj(name, threads);
    } catch (const std::bad_alloc&) {
        throw SceneTooLarge(name + ": does not fit into this machine's memory");
    }
}

}  // namespace heapwood::scenes
