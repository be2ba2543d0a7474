/// @file
/// Times on a GPU from triangles to hits there:
///     heapwood_rays_in_place SCENE...
/// prints for each scene, and two allocators, medians of 21 in milliseconds: a build, its layout
/// for rays, 1,048,576 rays of a camera through that layout and through the host's, and all three
/// in one CUDA graph; and the copy of the tree to the host in canonical form, which kernels bring
/// it into, and with the host doing that. The rays are the primary ones of `heapwood trace`. Ends
/// with 1 if a hit of the two layouts differs, or a tree.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <vector>

#include "allocators/atomicmalloc.cuh"
#include "app/measure/rays/rays.h"
#include "app/render/camera.h"
#include "kdtree/built_tree.h"
#include "kdtree/tree/canonical.h"
#include "tests/kdtree/single/frames.h"

namespace heapwood::kdtree::tests {
namespace {

using allocators::Buffer;
using allocators::Place;

constexpr unsigned kSide = 1024;  ///< rays of a row, and rows
constexpr unsigned kRays = kSide * kSide;
constexpr std::uint64_t kPool = 200;  ///< times the root's array

/// The median of some milliseconds that the stream takes for work.
template <class Work>
double median_ms(cudaStream_t stream, const Work& work) {
    constexpr unsigned kTimes = 21;
    work();  // what the first call has to make is made
    std::vector<double> ms;
    for (unsigned i = 0; i < kTimes; ++i) {
        platform::CudaEvent begin;
        platform::CudaEvent end;
        begin.record(stream);
        work();
        end.record(stream);
        ms.push_back(end.since(begin, "measuring"));
    }
    std::nth_element(ms.begin(), ms.begin() + kTimes / 2, ms.end());
    return ms[kTimes / 2];
}

/// The median of some milliseconds that the host takes for work.
template <class Work>
double median_host_ms(const Work& work) {
    constexpr unsigned kTimes = 7;
    std::vector<double> ms;
    for (unsigned i = 0; i < kTimes; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double, std::milli> taken =
            std::chrono::steady_clock::now() - begin;
        ms.push_back(taken.count());
    }
    std::nth_element(ms.begin(), ms.begin() + kTimes / 2, ms.end());
    return ms[kTimes / 2];
}

/// A copy of a tree that the host brings into canonical form.
Tree ordered_by_host(const TreeInPlace& made) {
    std::vector<Node> nodes(made.node_end);
    std::vector<std::uint32_t> references(made.reference_end);
    const auto copy = [](auto& to, const auto* from) {
        platform::check_cuda(
            cudaMemcpy(to.data(), from, to.size() * sizeof(to[0]), cudaMemcpyDeviceToHost),
            "copying a tree");
    };
    copy(nodes, made.nodes);
    copy(references, made.references);
    Tree tree = canonical(nodes, references, made.bounds);
    denormalise(tree.nodes, made.scale);
    return tree;
}

/// The rays of a camera. @param tree of the scene, on the host
Buffer camera_rays(const scenes::Scene& scene, const RayTree& tree) {
    const app::Camera camera = app::camera_of(scene, [&](std::span<const Ray> rays, Hit* hits) {
        closest_hits(tree, rays.data(), rays.size(), hits);
    });
    const std::vector<Ray> rays = app::primary_rays(camera, kSide).rays;
    Buffer there(Place::device, kRays * sizeof(Ray));
    there.write(0, rays.data(), there.size());
    return there;
}

std::vector<Hit> hits_in(const Buffer& buffer) {
    std::vector<Hit> hits(kRays);
    buffer.read(0, hits.data(), buffer.size());
    return hits;
}

unsigned differences(const Buffer& a, const Buffer& b) {
    const std::vector<Hit> left = hits_in(a);
    const std::vector<Hit> right = hits_in(b);
    unsigned n = 0;
    for (unsigned i = 0; i < kRays; ++i) {
        const bool same =
            left[i].triangle == right[i].triangle &&
            (!left[i].found() ||
             (left[i].t == right[i].t && left[i].u == right[i].u && left[i].v == right[i].v));
        n += same ? 0 : 1;
    }
    return n;
}

template <class A>
unsigned measure(const scenes::Scene& scene) {
    const DeviceFrame there(scene);
    GraphStream stream;
    const RunConfig run{.pool_bytes = kPool * root_array_bytes(scene.triangles.size())};
    BuiltTree<A, GpuMachine<A>> tree(GpuMachine<A>({}), there.frame(), {}, run, stream.get());
    const Tree ordered = tree.to_host();
    const RayTree canonical(ordered, scene, Place::device);
    const Buffer rays = camera_rays(scene, RayTree(ordered, scene, Place::host));
    const Buffer hits(Place::device, kRays * sizeof(Hit));
    const Buffer wanted(Place::device, kRays * sizeof(Hit));
    const BatchOptions batch{.coherent = true, .stream = stream.get()};
    const auto trace = [&] {
        tree.closest_hits(rays.template as<Ray>(), kRays, hits.template as<Hit>(), batch);
    };

    Builder<A, GpuMachine<A>> builder(GpuMachine<A>({}), scene.triangles.size(), {}, run);
    builder.rebuild(there.frame(), stream.get());
    RayTree laid_out(Place::device);
    const double build_ms =
        median_ms(stream.get(), [&] { builder.enqueue(there.frame(), stream.get()); });
    builder.finish(stream.get());  // tree_in_place() is that of the last build
    const double layout_ms =
        median_ms(stream.get(), [&] { laid_out.lay_out(builder.tree_in_place(), stream.get()); });
    const double rays_ms = median_ms(stream.get(), trace);
    const double canonical_ms = median_ms(stream.get(), [&] {
        closest_hits(canonical, rays.template as<Ray>(), kRays, wanted.template as<Hit>(), batch);
    });
    const double copy_ms = median_host_ms([&] { return builder.tree(); });
    const double host_copy_ms =
        median_host_ms([&] { return ordered_by_host(builder.tree_in_place()); });
    const bool trees_differ =
        digest(builder.tree()) != digest(ordered_by_host(builder.tree_in_place()));
    tree.enqueue(there.frame(), stream.get());  // makes room
    tree.finish(stream.get());
    stream.capture([&] {
        tree.enqueue(there.frame(), stream.get());
        trace();
    });
    const double graph_ms = median_ms(stream.get(), [&] { stream.launch(); });
    tree.finish(stream.get());
    const unsigned others = differences(hits, wanted);
    std::printf(
        "%-32s %-12s build %.3f layout %.3f rays %.3f (host's layout %.3f) all %.3f, to the host "
        "%.2f (ordered there %.2f), %u hits differ%s\n",
        scene.path.c_str(), A::traits().name, build_ms, layout_ms, rays_ms, canonical_ms, graph_ms,
        copy_ms, host_copy_ms, others, trees_differ ? ", and the trees" : "");
    std::fflush(stdout);
    return others + (trees_differ ? 1 : 0);
}

}  // namespace
}  // namespace heapwood::kdtree::tests

int main(int argc, char** argv) {
    using namespace heapwood;
    unsigned others = 0;
    try {
        for (int i = 1; i < argc; ++i) {
            const scenes::Scene scene = scenes::load(argv[i]);
            others += kdtree::tests::measure<allocators::AtomicMalloc>(scene);
            others += kdtree::tests::measure<allocators::Cambium>(scene);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return others == 0 ? 0 : 1;
}
