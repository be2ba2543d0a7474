#include "app/render/known_camera.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

vec3 vector_of(const nlohmann::json& json) {
    return {json.at(0).get<float>(), json.at(1).get<float>(), json.at(2).get<float>()};
}

}  // namespace

const Camera* known_camera(std::uint64_t digest) {
    static const std::map<std::uint64_t, Camera> known = [] {
        std::map<std::uint64_t, Camera> cameras;
        const auto json = nlohmann::json::parse(kCamerasText);
        for (const auto& camera : json.at("cameras")) {
            cameras[read_hex(camera.at("digest").get<std::string>())] = {
                .eye = vector_of(camera.at("eye")),
                .target = vector_of(camera.at("target")),
                .field_of_view = camera.at("field_of_view").get<float>(),
                .up = vector_of(camera.at("up"))};
        }
        return cameras;
    }();
    const auto found = known.find(digest);
    return found == known.end() ? nullptr : &found->second;
}

}  // namespace heapwood::app
