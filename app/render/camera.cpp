#include "app/render/camera.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "app/base/exit_code.h"
#include "app/render/interior.h"
#include "app/render/known_camera.h"
#include "app/render/surface.cuh"
#include "kdtree/rays/ray_batch.h"
#include "scenes/digest.h"

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

/// The box's diagonal, or for a scene that is a point a length that can be told from it.
double length_of(const scenes::Bounds& bounds) {
    const Exact diagonal = Exact(bounds.hi) - Exact(bounds.lo);
    const double length = std::max(std::sqrt(dot(diagonal, diagonal)), double{offset_of(bounds)});
    return length > 0 ? length : 1;
}

/// The nearest finite float.
float nearest(double value) {
    constexpr double kMost = std::numeric_limits<float>::max();
    return static_cast<float>(std::clamp(value, -kMost, kMost));
}

vec3 nearest(const Exact& point) {
    return {nearest(point.x), nearest(point.y), nearest(point.z)};
}

/// Moves a camera that looks at a scene from outside to where the box around it fills the picture.
Camera fitted(const scenes::Scene& scene, const Camera& camera, unsigned width, unsigned height) {
    constexpr double kFilled = 0.96;
    const View view = view_of(camera, width, height);
    const Exact lo(scene.bounds.lo);
    const Exact hi(scene.bounds.hi);
    const Exact middle = (lo + hi) * 0.5;
    double distance = offset_of(scene.bounds);
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
    moved.target = nearest(middle);
    moved.eye = nearest(middle - Exact(view.ahead) * (distance > 0 ? distance : 1));
    return moved;
}

/// Looks at the largest triangle, at right angles and from its least height above it, so that a
/// long one is not too narrow; nothing if no triangle has an area.
std::optional<Camera> close_up(const scenes::Scene& scene) {
    Exact largest{0, 0, 0};
    Exact middle{0, 0, 0};
    double edge = 0;  // its longest, squared
    for (const glm::uvec3& t : scene.triangles) {
        const Exact a(scene.positions[t.x]);
        const Exact b(scene.positions[t.y]);
        const Exact c(scene.positions[t.z]);
        const Exact normal = cross(b - a, c - a);
        if (!(dot(normal, normal) > dot(largest, largest))) continue;
        largest = normal;
        middle = (a + b + c) * (1 / 3.0);
        edge = std::max({dot(b - a, b - a), dot(c - b, c - b), dot(a - c, a - c)});
    }
    if (!(dot(largest, largest) > 0)) return std::nullopt;
    const Exact normal = unit(largest);
    const double height = std::sqrt(dot(largest, largest) / edge);
    const double distance = std::max(height, double{offset_of(scene.bounds)});
    const vec3 up = std::abs(normal.y) < 0.9 ? vec3{0, 1, 0} : vec3{0, 0, 1};
    return Camera{nearest(middle + normal * distance), nearest(middle), 50, up};
}

/// The whole scene from three directions, the first of which is that from its front and a little
/// above. A flat scene is seen from its edge in two of them at most.
std::vector<Camera> views_of(const scenes::Scene& scene) {
    const vec3 middle = scene.bounds.lo * 0.5F + scene.bounds.hi * 0.5F;
    const float distance = nearest(length_of(scene.bounds)) * 1.1F;
    std::vector<Camera> views;
    for (const vec3& from : {vec3{-0.3F, 0.4F, 1}, {1, 0.4F, -0.3F}, {0.4F, 1, 0.3F}}) {
        views.push_back({nearest(Exact(middle + unit(from) * distance)), middle, 50});
    }
    return views;
}

/// The first camera that sees enough of the scene; if none does, the one that sees most.
Camera chosen(const std::vector<Camera>& cameras, const ClosestHits& closest_hits) {
    constexpr unsigned kSide = 64;
    constexpr std::size_t kEnough = kSide * kSide / 100;
    std::size_t best = 0;
    std::size_t most = 0;
    for (std::size_t i = 0; i < cameras.size() && most < kEnough; ++i) {
        const View view = view_of(cameras[i], kSide, kSide);
        std::vector<kdtree::Ray> rays;
        for (unsigned pixel = 0; pixel < kSide * kSide; ++pixel) {
            rays.push_back(primary_ray(view, static_cast<float>(pixel % kSide) + 0.5F,
                                       static_cast<float>(pixel / kSide) + 0.5F));
        }
        std::vector<kdtree::Hit> hits(rays.size());
        closest_hits(rays, hits.data());
        const std::size_t seen = std::ranges::count_if(hits, &kdtree::Hit::found);
        if (seen > most) {
            most = seen;
            best = i;
        }
    }
    return cameras[best];
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

Camera camera_of(const scenes::Scene& scene, const ClosestHits& closest_hits) {
    std::vector<Camera> cameras = views_of(scene);
    if (const Camera* known = known_camera(scenes::digest(scene)))
        cameras.insert(cameras.begin(), *known);
    if (const auto close = close_up(scene)) cameras.push_back(*close);
    return chosen(cameras, closest_hits);
}

Camera camera_of(const scenes::Scene& scene, const kdtree::RayTree& tree, unsigned width,
                 unsigned height) {
    std::vector<Camera> cameras = views_of(scene);
    if (const Camera* known = known_camera(scenes::digest(scene))) {
        cameras.insert(cameras.begin(), *known);
    } else if (const auto inside = interior_camera(scene, tree)) {
        cameras.insert(cameras.begin(), *inside);
    }
    for (Camera& camera : cameras) {
        if (!is_inside(scene.bounds, camera.eye)) camera = fitted(scene, camera, width, height);
    }
    if (const auto close = close_up(scene)) cameras.push_back(*close);
    return chosen(cameras, [&](std::span<const kdtree::Ray> rays, kdtree::Hit* hits) {
        kdtree::closest_hits(tree, rays.data(), rays.size(), hits);
    });
}

float length_of(const scenes::Scene& scene) {
    return nearest(length_of(scene.bounds));
}

bool is_inside(const scenes::Bounds& bounds, const vec3& point) {
    for (int k = 0; k < 3; ++k) {
        if (!(point[k] > bounds.lo[k] && point[k] < bounds.hi[k])) return false;
    }
    return true;
}

vec3 light_of(const scenes::Scene& scene, const Camera& camera) {
    if (is_inside(scene.bounds, camera.eye)) {
        const float height = scene.bounds.hi.y - scene.bounds.lo.y;
        return (camera.eye + camera.target) * 0.5F + vec3{0, 0.12F * height, 0};
    }
    const View view = view_of(camera, 1, 1);
    const vec3 aside = view.up * 0.9F - view.right * 0.6F - view.ahead * 0.7F;
    return (scene.bounds.lo + scene.bounds.hi) * 0.5F + aside * nearest(length_of(scene.bounds));
}

}  // namespace heapwood::app
