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
#include <utility>
#include <vector>

#include "kdtree/config.h"
#include "kdtree/distance/sign_table.h"
#include "kdtree/finished_tree.h"
#include "kdtree/rays/ray_tree.h"
#include "kdtree/single/frame.cuh"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::python {

/// A scene, which trees share.
struct SceneObject {
    std::shared_ptr<const scenes::Scene> scene;
};

/// The scene of triangles in arrays.
/// @throws std::invalid_argument for a position of a triangle that is not finite. Another one that
/// is not becomes the origin.
SceneObject scene_of_arrays(std::vector<glm::vec3> positions, std::vector<glm::uvec3> triangles,
                            const std::string& path);
/// The path of such a scene, which was read from no file.
inline constexpr const char* kArrays = "arrays";

/// A finished tree, its scene, and what is known of both. Any thread may ask. What is not on the
/// host yet is copied there when it is asked for, which may take long: to be called without
/// Python's lock.
/// @throws what copies from a GPU do; the next call tries again.
class TreeData {
public:
    explicit TreeData(kdtree::BuildConfig config) : config_(std::move(config)) {}
    TreeData(const TreeData&) = delete;
    TreeData& operator=(const TreeData&) = delete;
    virtual ~TreeData() = default;

    const kdtree::BuildConfig& config() const { return config_; }
    virtual const SceneObject& scene() const = 0;
    virtual const kdtree::Tree& tree() const = 0;
    /// JSON of the build, as of `heapwood build --json`; empty: from a file.
    virtual const std::string& report() const = 0;
    /// The tree where it was built, if rays go through it there; otherwise nullptr.
    virtual const kdtree::FinishedTree* in_place() const { return nullptr; }
    /// The GPU that it lies on.
    virtual int device() const { return 0; }
    /// The triangles of such a tree, where it lies; otherwise none.
    virtual kdtree::Frame triangles() const { return {}; }

private:
    const kdtree::BuildConfig config_;
};

/// That of a tree on the host.
std::shared_ptr<const TreeData> tree_data(SceneObject scene, kdtree::Tree tree,
                                          kdtree::BuildConfig config, std::string report);

/// A value that is made at the first call, once.
template <class T>
class Lazy {
public:
    /// @throws what make() does; the next call tries again.
    template <class Make>
    const T& get(const Make& make) const {
        const std::lock_guard lock(mutex_);
        if (!value_) value_.emplace(make());
        return *value_;
    }

private:
    mutable std::mutex mutex_;
    mutable std::optional<T> value_;
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
    /// A tree for rays where it was built.
    explicit TreeObject(std::shared_ptr<const TreeData> data);

    const std::shared_ptr<const TreeData>& data() const { return data_; }
    allocators::Place place() const override { return place_; }
    /// The first call lays the tree out, unless it lies there from its build.
    const kdtree::RayTree& rays() const override;
    /// The same tree for rays at another place, or this one.
    TreeObject* to(allocators::Place place) const;
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
    bool in_place_ = false;  ///< rays go through the tree where it was built
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
