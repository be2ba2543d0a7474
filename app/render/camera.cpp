#include "app/render/camera.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "app/base/exit_code.h"
#include "app/render/interior.h"

namespace heapwood::app {
namespace {

/// In double precision the squares of all floats are finite.
using Exact = glm::dvec3;

/// The tangent of half a picture's width.
double half_width_of(const Camera& camera) {
    return std::tan(double{camera.field_of_view} * 3.14159265358979 / 360);
}

Exact direction_of(const Camera& camera) {
    const Exact ahead = Exact(camera.target) - Exact(camera.eye);
    if (!(dot(ahead, ahead) > 0)) {
        throw UsageError("the camera is where it looks at: choose another --look-at or --camera");
    }
    return unit(ahead);
}

float length_of(const scenes::Bounds& bounds) {
    const Exact diagonal = Exact(bounds.hi) - Exact(bounds.lo);
    return static_cast<float>(std::sqrt(dot(diagonal, diagonal)));
}

/// Moves a camera that looks at a scene from outside to where the box around it fills the picture.
Camera fitted(const scenes::Scene& scene, const Camera& camera, unsigned width, unsigned height) {
    constexpr double kFilled = 0.96;
    const View view = view_of(camera, width, height);
    const Exact lo(scene.bounds.lo);
    const Exact hi(scene.bounds.hi);
    const Exact middle = (lo + hi) * 0.5;
    double distance = 0;
    for (unsigned corner = 0; corner < 8; ++corner) {
        const Exact at{(corner & 1U) != 0 ? hi.x : lo.x, (corner & 2U) != 0 ? hi.y : lo.y,
                       (corner & 4U) != 0 ? hi.z : lo.z};
        const Exact from = at - middle;
        const double across = std::abs(dot(from, Exact(view.right))) / double{view.half_width};
        const double above = std::abs(dot(from, Exact(view.up))) / double{view.half_height};
        const double nearer = -dot(from, Exact(view.ahead));
        distance = std::max(distance, std::max(across, above) / kFilled + nearer);
    }
    Camera moved = camera;
    moved.target = vec3(middle);
    moved.eye = vec3(middle - Exact(view.ahead) * distance);
    return moved;
}

/// Published scenes by the names of their files.
const Camera* known_camera(const scenes::Scene& scene) {
    static const std::map<std::string, Camera> known{
        {"sponza", {{-13, 2.5F, 0.3F}, {10, 5, -0.5F}, 75}},
        {"sibenik", {{-16, -9, 0.4F}, {10, -7, -0.3F}, 75}},
        {"crytek_sponza", {{-62, 10, -2}, {60, 22, -3}, 75}},
        {"conference", {{1300, 420, -950}, {250, 60, -150}, 70}},
        {"country_kitchen", {{-1.6F, 1.6F, 4.2F}, {0.6F, 1.2F, -1.5F}, 65}},
        {"dragon_202k", {{-0.03F, 0.16F, 0.28F}, {-0.005F, 0.122F, -0.005F}, 34}},
        {"dragon_871k", {{-0.03F, 0.16F, 0.28F}, {-0.005F, 0.122F, -0.005F}, 34}},
        {"armadillo_100k", {{-40, 60, -250}, {0, 20, 0}, 40}},
        {"buddha_100k", {{1, -4, 0.5F}, {0, 0, 0}, 40, {0, 0, 1}}},
        {"cornell_original", {{0, 1, 5}, {0, 1, 0}, 40}},
        {"cornell_glossy", {{0, 1, 5}, {0, 1, 0}, 40}},
        {"bunny", {{-0.03F, 0.16F, 0.30F}, {-0.017F, 0.108F, -0.002F}, 34}},
    };
    const std::string file = std::filesystem::path(scene.path).filename().string();
    const auto found = known.find(file.substr(0, file.find('.')));
    return found == known.end() ? nullptr : &found->second;
}

}  // namespace

View view_of(const Camera& camera, unsigned width, unsigned height) {
    const Exact ahead = direction_of(camera);
    const Exact up(camera.up);
    const Exact right = cross(ahead, up);
    if (!(dot(right, right) > 1e-12 * dot(up, up))) {
        throw UsageError(
            "the camera looks along the direction that is to be above in the picture: choose "
            "another --up, as 0,0,1");
    }
    const double half_width = half_width_of(camera);
    return {.eye = camera.eye,
            .ahead = vec3(ahead),
            .right = vec3(unit(right)),
            .up = vec3(cross(unit(right), ahead)),
            .half_width = static_cast<float>(half_width),
            .half_height = static_cast<float>(half_width * height / width),
            .width = width,
            .height = height};
}

Camera camera_of(const scenes::Scene& scene) {
    if (const Camera* known = known_camera(scene)) return *known;
    const vec3 middle = scene.bounds.lo * 0.5F + scene.bounds.hi * 0.5F;
    return {middle + unit(vec3{-0.3F, 0.4F, 1}) * (length_of(scene.bounds) * 1.1F), middle, 50};
}

Camera camera_of(const scenes::Scene& scene, const kdtree::RayTree& tree, unsigned width,
                 unsigned height) {
    if (known_camera(scene) == nullptr) {
        if (const auto inside = interior_camera(scene, tree)) return *inside;
    }
    const Camera camera = camera_of(scene);
    return is_inside(scene.bounds, camera.eye) ? camera : fitted(scene, camera, width, height);
}

bool is_inside(const scenes::Bounds& bounds, const vec3& point) {
    for (int k = 0; k < 3; ++k) {
        if (!(point[k] > bounds.lo[k] && point[k] < bounds.hi[k])) return false;
    }
    return true;
}

vec3 light_of(const scenes::Scene& scene, const Camera& camera) {
    const vec3& lo = scene.bounds.lo;
    const vec3& hi = scene.bounds.hi;
    if (is_inside(scene.bounds, camera.eye)) {
        return (camera.eye + camera.target) * 0.5F + vec3{0, 0.12F * (hi.y - lo.y), 0};
    }
    const View view = view_of(camera, 1, 1);
    const vec3 aside = view.up * 0.9F - view.right * 0.6F - view.ahead * 0.7F;
    return (lo + hi) * 0.5F + aside * length_of(scene.bounds);
}

}  // namespace heapwood::app
