/// @file
/// Divides rays among devices.
#include "kdtree/rays/ray_replicas.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/platform/device.h"
#include "allocators/platform/threads.h"

namespace heapwood::kdtree {
namespace {

using allocators::Buffer;
using allocators::BufferError;
using allocators::Place;

/// Where range i of n begins that share `count` rays evenly; without a product that overflows.
std::uint64_t range_begin(std::uint64_t count, std::uint64_t i, std::uint64_t n) {
    return count / n * i + count % n * i / n;
}

}  // namespace

RayReplicas::RayReplicas(const Tree& tree, const scenes::Scene& scene,
                         std::vector<std::uint32_t> devices, Place place)
    : devices_(std::move(devices)), place_(place), trees_(devices_.size()) {
    if (devices_.empty()) throw std::invalid_argument("a tree needs a device to be copied to");
    on_each([&](std::uint32_t replica) { trees_[replica].emplace(tree, scene, place); });
}

std::uint64_t RayReplicas::bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& tree : trees_) bytes += tree->bytes();
    return bytes;
}

/// Throws what a device has thrown.
void RayReplicas::rethrow(const std::exception_ptr& error, std::size_t replica) const {
    if (devices_.size() == 1) std::rethrow_exception(error);
    const std::string device = "device " + std::to_string(devices_[replica]) + ": ";
    try {
        std::rethrow_exception(error);
    } catch (const BufferError& short_of_memory) {
        throw BufferError(device + short_of_memory.what());
    } catch (const std::exception& other) {
        throw std::runtime_error(device + other.what());
    }
}

/// Calls work for each replica, by a thread of its own if the system gives as many.
double RayReplicas::on_each(const std::function<void(std::uint32_t replica)>& work) const {
    std::vector<std::exception_ptr> errors(devices_.size());
    const auto replicas = static_cast<std::uint32_t>(devices_.size());
    const double ms =
        platform::run_threads(replicas, [&](std::uint32_t thread, std::uint32_t threads) {
            for (std::uint32_t i = thread; i < replicas; i += threads) {
                try {
                    std::optional<platform::DeviceScope> scope;
                    if (place_ == Place::device) scope.emplace(devices_[i]);
                    work(i);
                } catch (...) {
                    errors[i] = std::current_exception();
                }
            }
        });
    const auto failed = std::ranges::find_if(errors, [](const auto& error) { return !!error; });
    if (failed != errors.end()) rethrow(*failed, static_cast<std::size_t>(failed - errors.begin()));
    return ms;
}

double RayReplicas::divide(std::uint64_t count,
                           const std::function<void(const RayShare&)>& work) const {
    return on_each([&](std::uint32_t i) {
        const std::uint64_t begin = range_begin(count, i, devices_.size());
        const std::uint64_t end = range_begin(count, i + 1, devices_.size());
        if (begin < end) work({.replica = i, .tree = *trees_[i], .begin = begin, .end = end});
    });
}

void RayReplicas::closest_hits(const Ray* rays, std::uint64_t count, Hit* hits,
                               const BatchOptions& options) const {
    BatchOptions here = options;
    here.stream = nullptr;
    divide(count, [&](const RayShare& share) {
        const std::uint64_t n = share.end - share.begin;
        if (place_ == Place::host) {
            return kdtree::closest_hits(share.tree, rays + share.begin, n, hits + share.begin,
                                        here);
        }
        Buffer asked(place_, n * sizeof(Ray));
        const Buffer found(place_, n * sizeof(Hit));
        asked.write(0, rays + share.begin, asked.size());
        kdtree::closest_hits(share.tree, asked.as<Ray>(), n, found.as<Hit>(), here);
        found.read(0, hits + share.begin, found.size());
    });
}

}  // namespace heapwood::kdtree
