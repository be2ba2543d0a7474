/// @file
/// What lies behind Python's scenes and trees, and the functions that describe it to Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>

#include "kdtree/config.h"
#include "kdtree/distance/sign_table.h"
#include "kdtree/rays/ray_tree.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::python {

/// A scene, which trees share.
struct SceneObject {
    std::shared_ptr<const scenes::Scene> scene;
};

/// A finished tree, its scene, and what is known of both.
struct TreeData {
    SceneObject scene;
    kdtree::Tree tree;
    kdtree::BuildConfig config;
    std::string report;  ///< JSON of the build, as of `heapwood build --json`; empty: from a file
};

/// What rays are traced through.
class RaySource {
public:
    RaySource() = default;
    RaySource(const RaySource&) = delete;
    RaySource& operator=(const RaySource&) = delete;
    virtual ~RaySource() = default;

    virtual allocators::Place place() const = 0;
    /// The tree laid out where its rays are traced. Any thread may call it, but none that holds
    /// Python's lock: another may wait for that while it lays the tree out.
    /// @throws what kdtree::RayTree does, and std::invalid_argument where there is no tree.
    virtual const kdtree::RayTree& rays() const = 0;
    /// The GPU that it is laid out on, of a tree on a GPU.
    virtual int device() const = 0;
    /// No tree replaces this one while a caller has the lock; none for a tree that stays. To be
    /// called without Python's lock.
    virtual std::shared_lock<std::shared_mutex> hold() const { return {}; }
};

/// A tree for rays on one machine.
class TreeObject : public RaySource {
public:
    TreeObject(std::shared_ptr<const TreeData> data, allocators::Place place)
        : data_(std::move(data)), place_(place) {}

    const std::shared_ptr<const TreeData>& data() const { return data_; }
    allocators::Place place() const override { return place_; }
    /// The first call lays the tree out.
    const kdtree::RayTree& rays() const override;
    int device() const override { return device_; }
    /// The sides of its surface, where it is laid out, made at the first call; as rays().
    const kdtree::SignTable& signs() const;

private:
    std::shared_ptr<const TreeData> data_;
    allocators::Place place_;
    mutable std::mutex mutex_;
    mutable std::optional<kdtree::RayTree> rays_;
    mutable std::optional<kdtree::SignTable> signs_;
    mutable int device_ = 0;
};

/// A build's pool ran out; what() says of which allocator, and the remedy.
class OutOfPool : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A tree is wrong, or an allocator has lost memory.
class VerificationError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// @param what a name of the file that is to be written
/// @throws app::UsageError if it is one that the scene was read from.
void check_output(const std::string& scene, const std::string& what, const std::string& path);

/// "cpu" or "cuda". @throws std::invalid_argument for another word.
allocators::Place place_named(const std::string& device);
const char* name(allocators::Place place);

/// Each adds its part to the module. Trees need scenes; builds, builders, rays and distances need
/// trees.
void add_errors(nanobind::module_& m);
void add_scenes(nanobind::module_& m);
void add_trees(nanobind::module_& m);
void add_parameters(nanobind::module_& m);
void add_build(nanobind::module_& m);
void add_builder(nanobind::module_& m);
void add_rays(nanobind::module_& m);
void add_distances(nanobind::module_& m);
void add_forest(nanobind::module_& m);
void add_ray_parts(nanobind::module_& m);
void add_heaps(nanobind::module_& m);

}  // namespace heapwood::python
