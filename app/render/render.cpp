#include "app/render/render.h"

#include "allocators/platform/for_chunks.h"
#include "app/render/surface.cuh"
#include "kdtree/tree/walk.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Place;

template <class T>
Buffer copied(Place place, const std::vector<T>& values) {
    Buffer there(place, values.size() * sizeof(T));
    there.write(0, values.data(), there.size());
    return there;
}

std::vector<vec3> normals_of(const scenes::Scene& scene, unsigned threads) {
    std::vector<vec3> normals(scene.triangles.size());
    platform::for_chunks(
        normals.size(), 1 << 14, threads, [&](std::uint64_t from, std::uint64_t to) {
            for (std::uint64_t i = from; i < to; ++i) {
                const glm::uvec3 t = scene.triangles[i];
                normals[i] =
                    normal_of(scene.positions[t.x], scene.positions[t.y], scene.positions[t.z]);
            }
        });
    return normals;
}

std::vector<LeafFacts> leaves_of(const kdtree::Tree& tree) {
    std::vector<LeafFacts> leaves(tree.references.size());
    kdtree::walk(tree, [&](std::uint32_t number, const kdtree::Box&, std::uint32_t depth) {
        const kdtree::Node node = tree.nodes[number];
        if (!node.is_leaf()) return;
        for (std::uint32_t i = 0; i < node.count(); ++i) {
            leaves[node.first() + i] = {node.count(), depth};
        }
    });
    return leaves;
}

Lighting lighting_of(const scenes::Scene& scene, const Camera& camera,
                     const RenderSettings& settings) {
    const vec3 light = light_of(scene, camera);
    const glm::dvec3 diagonal = glm::dvec3(scene.bounds.hi) - glm::dvec3(scene.bounds.lo);
    const double size = std::sqrt(dot(diagonal, diagonal));
    const glm::dvec3 distance = (glm::dvec3(light) - glm::dvec3(camera.target)) / size;
    return {.light = light,
            .radius = static_cast<float>(0.01 * size),
            .size = static_cast<float>(size),
            .reference = static_cast<float>(dot(distance, distance)),
            .offset = offset_of(scene.bounds),
            .reach = static_cast<float>(double{settings.occlusion_reach} * size),
            .up = vec3(unit(glm::dvec3(camera.up)))};
}

}  // namespace

Rendering render(const scenes::Scene& scene, const kdtree::Tree& tree, const kdtree::RayTree& rays,
                 const Camera& camera, const RenderSettings& settings, const Progress& progress) {
    const Buffer normals = copied(rays.place(), normals_of(scene, settings.threads));
    const bool shows_leaves = settings.mode == Mode::leaf_size || settings.mode == Mode::leaf_depth;
    const Buffer leaves =
        copied(rays.place(), shows_leaves ? leaves_of(tree) : std::vector<LeafFacts>());
    Batch batch{};
    batch.tree = rays.view();
    batch.view = view_of(camera, settings.width, settings.height);
    batch.lighting = lighting_of(scene, camera, settings);
    batch.settings = settings;
    batch.settings.samples = settings.samples_or_default();
    if (settings.mode != Mode::path) batch.settings.bounces = 0;
    batch.normals = normals.as<vec3>();
    batch.leaves = leaves.as<LeafFacts>();
    const glm::dvec3 ahead = glm::dvec3(camera.target) - glm::dvec3(camera.eye);
    batch.slice = static_cast<float>(std::sqrt(dot(ahead, ahead)));
    const detail::RenderJob job{rays, batch, progress};
    return rays.place() == Place::device ? detail::render_on_gpu(job) : detail::render_on_cpu(job);
}

}  // namespace heapwood::app
