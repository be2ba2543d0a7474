/// @file
/// Built trees on a GPU, and in CUDA graphs.
#include "tests/allocators/platform/machines.h"
#include "tests/kdtree/rays/built_trees.h"
#include "tests/kdtree/single/frames.h"

namespace heapwood::kdtree::tests {
namespace {

bool available() {
    return heapwood::tests::DeviceMachine::available();
}

TEST(BuiltTreeGpu, HasTheHitsOfTheHostsLayout) {
    if (!available()) GTEST_SKIP() << "no such device";
    test_scenes_and_frames<OnGpu>(Place::device);
}

TEST(BuiltTreeGpu, ThatFailedIsMetByNoRay) {
    if (!available()) GTEST_SKIP() << "no such device";
    test_failures<OnGpu>(Place::device);
}

/// Build, layout and rays are one graph, launched for one frame after another.
TEST(BuiltTreeGpu, IsRebuiltAndTracedByAGraph) {
    if (!available()) GTEST_SKIP() << "no such device";
    Dice dice;
    scenes::Scene scene = random_scene("soup", 3000, dice());
    scene.bounds = {glm::vec3(-100), glm::vec3(100)};
    DeviceFrame there(scene);
    GraphStream stream;
    auto tree = build<OnGpu>(there.frame(), {}, {}, stream.get());
    const std::vector<Ray> rays = all_kinds(scene, tree.to_host(), 300, dice);
    Buffer from(Place::device, rays.size() * sizeof(Ray));
    from.write(0, rays.data(), from.size());
    const Buffer hits(Place::device, rays.size() * sizeof(Hit));
    const auto trace = [&] {
        tree.closest_hits(from.as<Ray>(), rays.size(), hits.as<Hit>(), {.stream = stream.get()});
    };
    // What the first calls have to make is made.
    tree.enqueue(there.frame(), stream.get());
    trace();
    tree.finish(stream.get());
    stream.capture([&] {
        tree.enqueue(there.frame(), stream.get());
        trace();
    });
    unsigned found = 0;
    for (int frame = 0; frame < 10; ++frame) {
        for (glm::vec3& position : scene.positions) position += dice.point(-0.1F, 0.1F);
        there.move(scene, stream.get());
        stream.launch();
        tree.finish(stream.get());
        const auto answers = contents<Hit>(hits);
        const Tree wanted = tree.to_host();
        const RayTree canonical(wanted, scene);
        for (std::size_t i = 0; i < rays.size(); ++i) {
            const Hit hit = closest_hit(canonical.view(), rays[i]);
            ASSERT_TRUE(same(answers[i], hit)) << "frame " << frame << ", ray " << i;
            found += hit.found() ? 1 : 0;
        }
    }
    EXPECT_GT(found, rays.size());
}

}  // namespace
}  // namespace heapwood::kdtree::tests
