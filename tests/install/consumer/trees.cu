/// @file
/// A program that builds trees on a GPU, one after another and of frames in the GPU's memory, and
/// sends rays through them, in a kernel of its own and in a batch. The installed builder is a
/// template, compiled here; what the library has compiled itself says what is right.
#include <cstdio>
#include <exception>
#include <vector>

#include <heapwood/allocators/memory/buffer.h>
#include <heapwood/kdtree/builder.h>
#include <heapwood/kdtree/levels/level_builder.h>
#include <heapwood/kdtree/rays/ray_batch.h>
#include <heapwood/scenes/scene.h>
#include <heapwood/allocators/hybrid.cuh>
#include <heapwood/kdtree/rays/traversal.cuh>

namespace {

using namespace heapwood;
using allocators::Buffer;
using allocators::Hybrid;
using allocators::Place;

constexpr unsigned kSide = 100;  ///< rays of a row of the picture
constexpr unsigned kRays = kSide * kSide;
constexpr int kFrames = 3;

unsigned wrong = 0;

void expect(bool right, const char* what, int frame) {
    if (right) return;
    ++wrong;
    std::printf("GPU: wrong: %s, frame %d\n", what, frame);
}

__global__ void trace_kernel(kdtree::RayTreeView tree, const kdtree::Ray* rays, kdtree::Hit* hits) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kRays) hits[i] = kdtree::closest_hit(tree, rays[i]);
}

/// Rays through the whole box of a scene, along z.
std::vector<kdtree::Ray> make_rays(const scenes::Bounds& box) {
    std::vector<kdtree::Ray> rays;
    for (unsigned i = 0; i < kRays; ++i) {
        const float x = (static_cast<float>(i % kSide) + 0.5F) / kSide;
        const float y = (static_cast<float>(i / kSide) + 0.5F) / kSide;
        const glm::vec3 extent = box.hi - box.lo;
        rays.push_back({.origin = {box.lo.x + x * extent.x, box.lo.y + y * extent.y, box.lo.z},
                        .direction = {0, 0, extent.z},
                        .t_min = 0,
                        .t_max = 1});
    }
    return rays;
}

/// How many hits are not the same, bit for bit.
unsigned count_others(const std::vector<kdtree::Hit>& wanted, const Buffer& device) {
    std::vector<kdtree::Hit> hits(kRays);
    device.read(0, hits.data(), device.size());
    unsigned others = 0;
    for (unsigned i = 0; i < kRays; ++i) {
        const bool same =
            hits[i].triangle == wanted[i].triangle &&
            (!hits[i].found() ||
             (hits[i].t == wanted[i].t && hits[i].u == wanted[i].u && hits[i].v == wanted[i].v));
        others += same ? 0 : 1;
    }
    return others;
}

/// Sends rays through a tree on the GPU.
void trace(const kdtree::Tree& tree, const scenes::Scene& scene, int frame) {
    const std::vector<kdtree::Ray> rays = make_rays(scene.bounds);
    std::vector<kdtree::Hit> wanted(kRays);
    kdtree::closest_hits(kdtree::RayTree(tree, scene), rays.data(), kRays, wanted.data());
    unsigned found = 0;
    for (const kdtree::Hit& hit : wanted) found += hit.found() ? 1 : 0;
    expect(found > kRays / 4, "the rays see too little", frame);

    const kdtree::RayTree there(tree, scene, Place::device);
    Buffer device_rays(Place::device, kRays * sizeof(kdtree::Ray));
    device_rays.write(0, rays.data(), device_rays.size());
    const auto* from = device_rays.as<kdtree::Ray>();
    Buffer hits(Place::device, kRays * sizeof(kdtree::Hit));
    constexpr unsigned kThreads = 128;
    trace_kernel<<<(kRays + kThreads - 1) / kThreads, kThreads>>>(there.view(), from,
                                                                  hits.as<kdtree::Hit>());
    expect(cudaDeviceSynchronize() == cudaSuccess, "a kernel with rays", frame);
    expect(count_others(wanted, hits) == 0, "hits of the kernel", frame);

    hits.zero();
    kdtree::closest_hits(there, from, kRays, hits.as<kdtree::Hit>());
    kdtree::wait(there);
    expect(count_others(wanted, hits) == 0, "hits of the batch", frame);
}

/// The tree of the library's own builder.
std::uint64_t wanted_digest(const scenes::Scene& scene) {
    return digest(kdtree::build_by_levels_on_cpu(scene, {}, {}).tree);
}

void build_and_trace() {
    scenes::Scene scene = scenes::load("gen:soup:10000");
    const kdtree::BuildConfig config;
    const kdtree::RunConfig run{
        .pool_bytes = (1 << 20) + 20 * kdtree::root_array_bytes(scene.triangles.size())};
    const kdtree::BuildResult once = kdtree::build_on_gpu<Hybrid>(scene, config, run);
    expect(once.status == kdtree::Status::done, "the status of one build", 0);
    expect(digest(once.tree) == wanted_digest(scene), "the tree of one build", 0);

    kdtree::Builder<Hybrid, kdtree::GpuMachine<Hybrid>> builder(
        kdtree::GpuMachine<Hybrid>(config), scene.triangles.size(), config, run);
    Buffer positions(Place::device, scene.positions.size() * sizeof(glm::vec3));
    Buffer triangles(Place::device, scene.triangles.size() * sizeof(glm::uvec3));
    triangles.write(0, scene.triangles.data(), triangles.size());
    for (int frame = 0; frame < kFrames; ++frame) {
        for (glm::vec3& position : scene.positions) position.y += 0.1F * position.x * position.x;
        scenes::finish(scene);
        const std::uint64_t wanted = wanted_digest(scene);
        expect(builder.rebuild(scene), "the status of a scene", frame);
        expect(digest(builder.tree()) == wanted, "the tree of a scene", frame);
        positions.write(0, scene.positions.data(), positions.size());
        const kdtree::Frame in_place{
            .positions = positions.as<glm::vec3>(),
            .position_count = static_cast<std::uint32_t>(scene.positions.size()),
            .triangles = triangles.as<glm::uvec3>(),
            .triangle_count = static_cast<std::uint32_t>(scene.triangles.size()),
            .bounds = scene.bounds};
        expect(builder.rebuild(in_place), "the status of a frame", frame);
        const kdtree::Tree tree = builder.tree();
        expect(digest(tree) == wanted, "the tree of a frame", frame);
        trace(tree, scene, frame);
    }
}

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("GPU: none here, no tree is built: skipped");
        return 0;
    }
    try {
        build_and_trace();
    } catch (const std::exception& e) {
        std::printf("GPU: %s\n", e.what());
        return 1;
    }
    std::printf("GPU: trees and rays of %d frames, %u wrong\n", kFrames, wrong);
    return wrong == 0 ? 0 : 1;
}
