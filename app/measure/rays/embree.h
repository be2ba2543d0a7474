/// @file
/// Embree beside our own traversal, where it is installed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "allocators/platform/for_chunks.h"
#include "kdtree/model/triangle.cuh"
#include "scenes/scene.h"

#if defined(HEAPWOOD_HAS_EMBREE)
#include <embree3/rtcore.h>
#endif

namespace heapwood::app {

#if defined(HEAPWOOD_HAS_EMBREE)

/// A scene in Embree: its best tree, and its robust mode, which is the one without gaps. Built by
/// as many threads as trace it (0: one a core).
class Embree {
public:
    Embree(const scenes::Scene& scene, unsigned threads)
        : device_(rtcNewDevice(("threads=" + std::to_string(threads)).c_str())),
          scene_(rtcNewScene(device_)) {
        rtcSetSceneFlags(scene_, RTC_SCENE_FLAG_ROBUST);
        rtcSetSceneBuildQuality(scene_, RTC_BUILD_QUALITY_HIGH);
        const RTCGeometry mesh = rtcNewGeometry(device_, RTC_GEOMETRY_TYPE_TRIANGLE);
        // The last vertex is read as 16 bytes.
        positions_ = scene.positions;
        positions_.emplace_back();
        triangles_ = scene.triangles;
        rtcSetSharedGeometryBuffer(mesh, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                                   positions_.data(), 0, sizeof(glm::vec3), positions_.size() - 1);
        rtcSetSharedGeometryBuffer(mesh, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                   triangles_.data(), 0, sizeof(glm::uvec3), triangles_.size());
        rtcCommitGeometry(mesh);
        rtcAttachGeometry(scene_, mesh);
        rtcReleaseGeometry(mesh);
        rtcCommitScene(scene_);
    }
    Embree(const Embree&) = delete;
    Embree& operator=(const Embree&) = delete;
    ~Embree() {
        rtcReleaseScene(scene_);
        rtcReleaseDevice(device_);
    }

    static bool exists() { return true; }

    /// All rays one by one; returns how many have a hit.
    std::uint64_t trace(const std::vector<kdtree::Ray>& rays, bool any_hit,
                        unsigned threads) const {
        std::atomic<std::uint64_t> found{0};
        platform::for_chunks(rays.size(), 1024, threads,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 std::uint64_t mine = 0;
                                 for (std::uint64_t i = begin; i < end; ++i)
                                     mine += trace(rays[i], any_hit);
                                 found += mine;
                             });
        return found;
    }

    /// The first hit of a ray, by Embree's own rounding; without u and v.
    kdtree::Hit first_hit(const kdtree::Ray& ray) const {
        RTCIntersectContext context;
        rtcInitIntersectContext(&context);
        RTCRayHit query = query_of(ray);
        rtcIntersect1(scene_, &context, &query);
        if (query.hit.geomID == RTC_INVALID_GEOMETRY_ID) return {};
        return {.t = query.ray.tfar, .triangle = query.hit.primID, .u = 0, .v = 0};
    }

private:
    static RTCRayHit query_of(const kdtree::Ray& ray) {
        RTCRayHit query{};
        query.ray = {ray.origin.x,
                     ray.origin.y,
                     ray.origin.z,
                     ray.t_min,
                     ray.direction.x,
                     ray.direction.y,
                     ray.direction.z,
                     0,
                     ray.t_max,
                     0xFFFFFFFFU,
                     0,
                     0};
        query.hit.geomID = RTC_INVALID_GEOMETRY_ID;
        query.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
        return query;
    }

    bool trace(const kdtree::Ray& ray, bool any_hit) const {
        if (!any_hit) return first_hit(ray).found();
        RTCIntersectContext context;
        rtcInitIntersectContext(&context);
        RTCRayHit query = query_of(ray);
        rtcOccluded1(scene_, &context, &query.ray);
        return query.ray.tfar < 0;
    }

    RTCDevice device_;
    RTCScene scene_;
    std::vector<glm::vec3> positions_;
    std::vector<glm::uvec3> triangles_;
};

#else

class Embree {
public:
    Embree(const scenes::Scene&, unsigned) {}
    static bool exists() { return false; }
    std::uint64_t trace(const std::vector<kdtree::Ray>&, bool, unsigned) const { return 0; }
    kdtree::Hit first_hit(const kdtree::Ray&) const { return {}; }
};

#endif

}  // namespace heapwood::app
