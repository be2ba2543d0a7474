#include "app/measure/remote.h"

#include <nlohmann/json.hpp>

#include "app/base/text.h"
#include "app/measure/result_json.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

std::string shortened(const std::string& line) {
    constexpr std::size_t kShown = 60;
    return line.size() <= kShown ? line : line.substr(0, kShown) + "...";
}

}  // namespace

void Remote::prepare(const RemoteScene& scene) {
    if (child_ && scene_.path == scene.path) return;
    scene_ = scene;
    loaded_ = false;
    if (!child_) child_ = std::make_unique<Child>(arguments_);
    // Whether it arrives is seen when the answer is awaited.
    static_cast<void>(child_->lines().send(load_request(scene.path).dump()));
}

bool Remote::receive(std::string& line, double seconds, Result& result) {
    const auto limit =
        std::chrono::duration_cast<Lines::Clock::duration>(std::chrono::duration<double>(seconds));
    switch (child_->lines().receive(line, Lines::Clock::now() + limit, interrupts_)) {
        case Arrival::line:
            return true;
        case Arrival::interrupted:
            throw Interrupted();
        case Arrival::late:
            result.fail(Outcome::hang, "no end within the limit of " + shortest(seconds) + " s");
            break;
        case Arrival::closed:
            result.fail(Outcome::crashed, "its process " + child_->end());
            break;
        case Arrival::flood:
            result.fail(Outcome::crashed, "its process answered without an end");
            break;
    }
    stop();
    return false;
}

void Remote::nonsense(const std::string& line, Result& result) {
    result.fail(Outcome::crashed, "its process answered nonsense: " + shortened(line));
    stop();
}

bool Remote::await_scene(Result& result) {
    if (loaded_) return true;
    std::string line;
    if (!receive(line, scene_.seconds, result)) return false;
    const Json answer = Json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.contains("digest")) {
        nonsense(line, result);
        return false;
    }
    if (answer.at("digest") != hex(scene_.digest)) {
        result.fail(Outcome::failed, "the scene has changed since it was first read");
        stop();
        return false;
    }
    loaded_ = true;
    return true;
}

void Remote::stop() {
    child_.reset();
    heap_bytes_ = 0;
}

Result Remote::build(const BuildRequest& request, double seconds) {
    // Of some allocators a process keeps the heap: one of another size needs another process.
    if (heap_bytes_ != 0 && heap_bytes_ != request.pool_bytes) stop();
    if (backend_->gpu && backend_->traits.one_heap) heap_bytes_ = request.pool_bytes;
    prepare(scene_);
    Result failed;
    failed.method = backend_->method;
    failed.allocator = backend_->traits;
    failed.pool_bytes = request.pool_bytes;
    if (!await_scene(failed)) return failed;
    static_cast<void>(child_->lines().send(as_json(request).dump()));
    std::string line;
    if (!receive(line, seconds, failed)) return failed;
    try {
        Result result = read_result(Json::parse(line), *backend_);
        // After a CUDA error a process is of no more use.
        if (result.outcome == Outcome::failed) stop();
        return result;
    } catch (const Json::exception&) {
        nonsense(line, failed);
    } catch (const std::invalid_argument&) {
        nonsense(line, failed);
    }
    return failed;
}

}  // namespace heapwood::app
