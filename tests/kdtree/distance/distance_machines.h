/// @file
/// The ways to ask about distances, behind one interface, so that a test's body is written once.
///
/// A machine has `available()`, the `place()` where its trees lie, and `ask(tree, signs, asked)`.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kdtree/distance/distance_batch.h"
#include "kdtree/distance/range.cuh"
#include "kdtree/distance/sign_table.h"
#include "tests/kdtree/rays/ray_machines.h"

namespace heapwood::kdtree::tests {

/// What is asked: about points, each with a distance, and about boxes.
struct Asked {
    std::vector<glm::vec3> points;
    std::vector<float> most;
    std::vector<glm::vec3> lo;
    std::vector<glm::vec3> hi;
};

/// About regions of one kind.
struct RegionAnswers {
    std::vector<std::uint8_t> any;
    std::vector<std::uint32_t> counts;
    std::vector<std::vector<std::uint32_t>> lists;
};

/// By point, and by box.
struct DistanceAnswers {
    std::vector<float> nearest_distances;
    std::vector<std::uint32_t> triangles;
    std::vector<glm::vec2> barycentrics;
    std::vector<glm::vec3> points;
    std::vector<float> distances;
    std::vector<float> by_normals;
    std::vector<float> by_crossings;
    std::vector<std::uint8_t> inside;
    std::vector<std::uint8_t> inside_by_crossings;
    RegionAnswers balls;
    RegionAnswers boxes;

    DistanceAnswers() = default;
    explicit DistanceAnswers(std::size_t n)
        : nearest_distances(n),
          triangles(n),
          barycentrics(n),
          points(n, glm::vec3(std::numeric_limits<float>::quiet_NaN())),
          distances(n),
          by_normals(n),
          by_crossings(n),
          inside(n),
          inside_by_crossings(n) {}
};

/// One point at a time, in the test's thread.
struct DistanceHostThread {
    static bool available() { return true; }
    static Place place() { return Place::host; }
    static DistanceAnswers ask(const RayTree& rays, const SignTable& signs, const Asked& asked) {
        const RayTreeView& tree = rays.view();
        DistanceAnswers answers(asked.points.size());
        for (std::size_t i = 0; i < asked.points.size(); ++i) {
            const glm::vec3& p = asked.points[i];
            const Nearest nearest = closest_point(tree, p, asked.most[i]);
            answers.nearest_distances[i] = nearest.distance;
            answers.triangles[i] = nearest.triangle;
            if (nearest.found()) {
                answers.barycentrics[i] = {nearest.u, nearest.v};
                answers.points[i] = nearest.point;
            }
            answers.distances[i] = distance(tree, p, asked.most[i]);
            answers.by_normals[i] = signed_distance(tree, signs.view(), p);
            answers.by_crossings[i] = signed_distance(tree, SignView{nullptr}, p);
            answers.inside[i] = contains(tree, signs.view(), p) ? 1 : 0;
            answers.inside_by_crossings[i] = contains(tree, SignView{nullptr}, p) ? 1 : 0;
            add(tree, Ball{p, asked.most[i]}, answers.balls);
        }
        for (std::size_t i = 0; i < asked.lo.size(); ++i) {
            add(tree, BoxRegion{asked.lo[i], asked.hi[i]}, answers.boxes);
        }
        return answers;
    }

private:
    template <class Region>
    static void add(const RayTreeView& tree, const Region& region, RegionAnswers& to) {
        to.any.push_back(any_in(tree, region) ? 1 : 0);
        to.counts.push_back(count_in(tree, region));
        to.lists.emplace_back(to.counts.back());
        list_in(tree, region, to.lists.back().data());
    }
};

/// Batches, on the machine where the tree lies. Results are filled with 0xAB before.
class DistanceBatch {
public:
    DistanceBatch(const RayTree& tree, const SignTable& signs, const BatchOptions& options)
        : tree_(tree), signs_(signs), options_(options) {}

    DistanceAnswers ask(const Asked& asked) const {
        const std::size_t n = asked.points.size();
        const Buffer at = there(asked.points);
        const Buffer most = there(asked.most);
        const VectorArray points{at.as<float>()};
        const NumberArray limits{most.as<float>()};
        const SignView none{nullptr};
        DistanceAnswers answers(n);
        const Buffer distances = made(n * sizeof(float));
        const Buffer triangles = made(n * sizeof(std::uint32_t));
        const Buffer barycentrics = made(n * sizeof(glm::vec2));
        const Buffer found = made(n * sizeof(glm::vec3));
        closest_points(tree_, points, n, limits,
                       {distances.as<float>(), triangles.as<std::uint32_t>(),
                        barycentrics.as<float>(), found.as<float>()},
                       options_);
        wait(tree_, options_);
        answers.nearest_distances = contents<float>(distances);
        answers.triangles = contents<std::uint32_t>(triangles);
        answers.barycentrics = contents<glm::vec2>(barycentrics);
        answers.points = contents<glm::vec3>(found);
        answers.distances = asked_for<float>(n, [&](float* to) {
            closest_points(tree_, points, n, limits, {.distances = to}, options_);
        });
        answers.by_normals = asked_for<float>(
            n, [&](float* to) { signed_distances(tree_, signs_.view(), points, n, to, options_); });
        answers.by_crossings = asked_for<float>(
            n, [&](float* to) { signed_distances(tree_, none, points, n, to, options_); });
        answers.inside =
            flags(n, [&](bool* to) { contain(tree_, signs_.view(), points, n, to, options_); });
        answers.inside_by_crossings =
            flags(n, [&](bool* to) { contain(tree_, none, points, n, to, options_); });
        answers.balls = ask_regions(BallArray{points, limits}, n);
        const Buffer lo = there(asked.lo);
        const Buffer hi = there(asked.hi);
        answers.boxes = ask_regions(BoxArray{{lo.as<float>()}, {hi.as<float>()}}, asked.lo.size());
        return answers;
    }

private:
    Buffer made(std::size_t bytes) const {
        Buffer buffer(tree_.place(), bytes);
        buffer.fill(0, 0xAB, bytes);
        return buffer;
    }
    template <class T>
    Buffer there(const std::vector<T>& values) const {
        Buffer buffer(tree_.place(), values.size() * sizeof(T));
        if (!values.empty()) buffer.write(0, values.data(), buffer.size());
        return buffer;
    }
    template <class T, class Call>
    std::vector<T> asked_for(std::size_t n, const Call& call) const {
        const Buffer results = made(n * sizeof(T));
        call(results.as<T>());
        wait(tree_, options_);
        return contents<T>(results);
    }
    template <class Call>
    std::vector<std::uint8_t> flags(std::size_t n, const Call& call) const {
        const Buffer results = made(n * sizeof(bool));
        call(results.as<bool>());
        wait(tree_, options_);
        return contents<std::uint8_t>(results);
    }
    template <class Regions>
    RegionAnswers ask_regions(const Regions& regions, std::size_t n) const {
        RegionAnswers answers;
        answers.any = flags(n, [&](bool* to) { any_in(tree_, regions, n, to, options_); });
        answers.counts = asked_for<std::uint32_t>(
            n, [&](std::uint32_t* to) { count_in(tree_, regions, n, to, options_); });
        const TriangleLists lists = all_in(tree_, regions, n, options_);
        const auto offsets = contents<std::uint64_t>(lists.offsets);
        const auto triangles = contents<std::uint32_t>(lists.triangles);
        for (std::size_t i = 0; i < n; ++i) {
            answers.lists.emplace_back(
                triangles.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                triangles.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
        }
        return answers;
    }

    const RayTree& tree_;
    const SignTable& signs_;
    BatchOptions options_;
};

/// Batches on the threads of this machine.
struct DistanceHostBatch {
    static bool available() { return true; }
    static Place place() { return Place::host; }
    static DistanceAnswers ask(const RayTree& tree, const SignTable& signs, const Asked& asked) {
        return DistanceBatch(tree, signs, {.threads = 3}).ask(asked);
    }
};

}  // namespace heapwood::kdtree::tests
