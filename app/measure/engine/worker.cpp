#include "app/measure/engine/worker.h"

#include <unistd.h>

#include "app/base/console.h"
#include "app/base/json_line.h"
#include "app/base/log.h"
#include "app/base/outcome.h"
#include "app/measure/engine/child.h"
#include "app/measure/engine/lines.h"
#include "scenes/scene.h"

namespace heapwood::app {

void become_worker() {
    become_child();
    log::set_up(-1);  // the parent says it once
    set_up_progress(false);
}

void serve(const std::function<Json(const Json&)>& answer) {
    const auto reply = [&](const Json& request) -> Json {
        try {
            return answer(request);
        } catch (const scenes::SceneTooLarge& error) {
            return {{"failure", error.what()}, {"outcome", name(Outcome::out_of_memory)}};
        } catch (const scenes::SceneError& error) {
            return {{"failure", error.what()}};
        } catch (...) {
            const Failure failure = failure_in_flight();
            return {{"failure", failure.message}, {"outcome", name(failure.outcome)}};
        }
    };
    Lines parent(STDIN_FILENO);
    for (std::string line; parent.receive(line) == Arrival::line;) {
        if (!parent.send(json_line(reply(from_json_line(line))))) return;
    }
}

void serve_turns(const std::function<std::string(const Json&)>& load,
                 const std::function<Json(const Json&)>& take_turn) {
    serve([&](const Json& request) -> Json {
        if (request.contains("load")) return {{"digest", load(request.at("load"))}};
        return take_turn(request);
    });
}

}  // namespace heapwood::app
