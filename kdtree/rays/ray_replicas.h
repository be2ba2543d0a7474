/// @file
/// A tree on each of several GPUs of one machine, which divide a batch of rays among themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "kdtree/rays/ray_batch.h"
#include "kdtree/rays/ray_tree.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// A device's rays of a batch.
struct RayShare {
    std::uint32_t replica;  ///< number among the replicas
    const RayTree& tree;    ///< on that device
    std::uint64_t begin;    ///< first ray
    std::uint64_t end;      ///< one after the last ray
};

/// Every device has the whole tree, so no ray goes from one to another, and each ray has the bits
/// that it has on one device. The ranges follow one another and differ by one ray at most.
///
/// Errors: what a device throws is thrown again when all others have ended; of several that throw,
/// the first one's. If there is more than one device, its number stands before what it says, a
/// BufferError stays one, and any other std::exception becomes a std::runtime_error.
class RayReplicas {
public:
    /// Lays the tree out on each device, at the same time. The thread's current device stays.
    /// @param devices by CUDA's numbers; one that is named twice has two replicas
    /// @param place host: all of them are the CPU, and a number is a name only
    /// @throws std::invalid_argument without a device, and as RayTree.
    RayReplicas(const Tree& tree, const scenes::Scene& scene, std::vector<std::uint32_t> devices,
                allocators::Place place = allocators::Place::device);

    const std::vector<std::uint32_t>& devices() const { return devices_; }
    /// Of all replicas together.
    std::uint64_t bytes() const;

    /// Calls work for each range of 0 .. count - 1 that is not empty: at once, each by a thread of
    /// its own, whose current device is the range's. Returns when all calls have returned.
    /// @return milliseconds from the start of the first thread to the end of the last one.
    double divide(std::uint64_t count, const std::function<void(const RayShare&)>& work) const;

    /// The first hit of each of `count` rays; rays and hits lie in the host's memory. Returns when
    /// all hits are there. The stream of the options has no effect.
    void closest_hits(const Ray* rays, std::uint64_t count, Hit* hits,
                      const BatchOptions& options = {}) const;

private:
    [[noreturn]] void rethrow(const std::exception_ptr& error, std::size_t replica) const;
    double on_each(const std::function<void(std::uint32_t replica)>& work) const;

    std::vector<std::uint32_t> devices_;
    allocators::Place place_;
    std::vector<std::optional<RayTree>> trees_;  ///< one a device
};

}  // namespace heapwood::kdtree
