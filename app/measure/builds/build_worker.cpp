#include "app/measure/builds/build_worker.h"

#include "app/base/text.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/builds/turn.h"
#include "app/measure/engine/scene_copy.h"
#include "app/measure/engine/worker.h"
#include "scenes/digest.h"
#include "scenes/scene.h"

namespace heapwood::app {

void serve_builds(const Backend& backend, const Report& settings) {
    scenes::Scene scene;
    const auto load = [&](const Json& where) {
        scene = scenes::Scene();  // never two at once
        scene = read_scene_copy(where, settings.options.run.threads);
        return hex(digest(scene));
    };
    const auto take = [&](const Json& work) {
        MeasureOptions options = settings.options;
        work.get_to(options);
        return result_json(settings, take_turn(backend, {scene, options}));
    };
    serve_turns(load, take);
}

}  // namespace heapwood::app
