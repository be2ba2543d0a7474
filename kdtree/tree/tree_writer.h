/// @file
/// Writes a tree file while the tree grows, for trees that need not fit into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "allocators/platform/new_file.h"
#include "kdtree/config.h"
#include "kdtree/tree/tree.h"
#include "kdtree/tree/tree_sink.h"
#include "scenes/digest.h"
#include "scenes/pieces.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// A tree file in the making, which takes the place of FILE when it is whole; and beside it a file
/// of references and one of what is known of the scene before the tree is. What is not finished
/// leaves nothing behind (NewFile).
class TreeWriter final : public TreeSink {
public:
    /// @throws TreeWriteError if the files cannot be made, as for all its functions.
    explicit TreeWriter(const std::string& path);
    TreeWriter(const TreeWriter&) = delete;
    TreeWriter& operator=(const TreeWriter&) = delete;
    ~TreeWriter() override;

    void add_nodes(std::span<const Node> nodes) override;
    void set_node(std::uint32_t place, const Node& node) override;
    void add_references(std::span<const std::uint32_t> references) override;
    void extend(std::uint64_t nodes, std::uint64_t references) override;
    void put_nodes(std::uint64_t place, std::span<const Node> nodes) override;
    void put_references(std::uint64_t place, std::span<const std::uint32_t> references) override;
    void clear() override;

    /// Completes the file: it is the one that tree_file() makes. @return the tree's digest.
    std::uint64_t finish(const scenes::Scene& scene, const BuildConfig& config);

    /// Passes all pieces of a scene on, as scenes::read_in_pieces().
    using ReadPieces = std::function<void(const scenes::UsePiece&)>;
    /// Writes a scene that never is in memory as a whole, once. Another thread may add the tree
    /// meanwhile: both must have returned before finish() is called.
    /// @param facts that the pieces must have.
    void write_scene(const ReadPieces& read, const scenes::SceneFacts& facts);

    /// What finish() finds out.
    struct Finished {
        std::uint64_t tree_digest = 0;
        std::uint64_t scene_digest = 0;
        std::uint64_t positions = 0;
    };
    /// Completes a file whose scene has been written.
    Finished finish(const BuildConfig& config);

private:
    [[noreturn]] void fail(const std::string& why) const;
    void write(int file, std::uint64_t offset, const void* from, std::uint64_t bytes) const;
    void read(int file, std::uint64_t offset, void* to, std::uint64_t bytes) const;
    /// Where a scene is written: a file, and where in it triangles and positions begin.
    struct ScenePlace {
        int file;
        std::uint64_t triangles;
        std::uint64_t positions;
    };
    void check(const platform::NewFile& file) const;
    void write_triangles(int file, std::uint64_t offset, const scenes::Scene& piece,
                         std::uint64_t first_position) const;
    void write_scene(const ReadPieces& read, const scenes::SceneFacts& facts,
                     const ScenePlace& place);
    void copy(int from, std::uint64_t begin, std::uint64_t bytes, std::uint64_t to) const;
    std::uint64_t digest_tree() const;
    std::uint64_t digest_scene(std::uint64_t triangles) const;
    void add_words(scenes::Fnv& fnv, int file, std::uint64_t offset, std::uint64_t words) const;

    std::string path_;  ///< as it was given
    platform::NewFile file_;
    platform::NewFile references_file_;
    std::optional<platform::NewFile> scene_file_;
    std::uint64_t nodes_ = 0;
    std::uint64_t references_ = 0;
    scenes::SceneFacts facts_;
    ScenePlace scene_{};
    std::uint64_t positions_ = 0;
    std::uint64_t scene_digest_ = 0;
};

}  // namespace heapwood::kdtree
