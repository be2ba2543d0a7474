#include "kdtree/tree/tree_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "allocators/platform/file_bytes.h"
#include "allocators/platform/for_chunks.h"
#include "kdtree/tree/tree_file.h"
#include "kdtree/tree/tree_format.h"

namespace heapwood::kdtree {
namespace {

using namespace tree_format;

constexpr std::uint64_t kWord = sizeof(std::uint32_t);

}  // namespace

TreeWriter::TreeWriter(const std::string& path) : path_(path), file_(path), references_file_(path) {
    std::error_code error;
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
        fail("it is not a regular file");
    }
    check(file_);
    check(references_file_);
    const std::string obstacle = platform::obstacle(path);
    if (!obstacle.empty()) throw TreeWriteError(path_ + ": cannot be written: " + obstacle);
}

TreeWriter::~TreeWriter() = default;

void TreeWriter::fail(const std::string& why) const {
    throw TreeWriteError(path_ + ": cannot be written: " + why + "; name another file");
}

void TreeWriter::check(const platform::NewFile& file) const {
    if (file.error() != 0) fail(std::strerror(file.error()));
}

void TreeWriter::write(int file, std::uint64_t offset, const void* from,
                       std::uint64_t bytes) const {
    if (!platform::write_at(file, offset, from, bytes)) fail(std::strerror(errno));
}

void TreeWriter::read(int file, std::uint64_t offset, void* to, std::uint64_t bytes) const {
    if (platform::read_at(file, offset, to, bytes) == bytes) return;
    fail(errno != 0 ? std::strerror(errno) : "another process changes it");
}

void TreeWriter::add_nodes(std::span<const Node> nodes) {
    put_nodes(nodes_, nodes);
    nodes_ += nodes.size();
}

void TreeWriter::set_node(std::uint32_t place, const Node& node) {
    put_nodes(place, {&node, 1});
}

void TreeWriter::add_references(std::span<const std::uint32_t> references) {
    put_references(references_, references);
    references_ += references.size();
}

void TreeWriter::extend(std::uint64_t nodes, std::uint64_t references) {
    nodes_ += nodes;
    references_ += references;
}

void TreeWriter::put_nodes(std::uint64_t place, std::span<const Node> nodes) {
    write(file_.descriptor(), sizeof(Header) + place * sizeof(Node), nodes.data(),
          nodes.size_bytes());
}

void TreeWriter::put_references(std::uint64_t place, std::span<const std::uint32_t> references) {
    write(references_file_.descriptor(), place * sizeof(std::uint32_t), references.data(),
          references.size_bytes());
}

void TreeWriter::clear() {
    nodes_ = references_ = 0;
    for (const int file : {file_.descriptor(), references_file_.descriptor()}) {
        if (ftruncate(file, 0) != 0) fail(std::strerror(errno));
    }
}

/// Writes a piece's triangles, with the numbers that positions have in the whole scene.
void TreeWriter::write_triangles(int file, std::uint64_t offset, const scenes::Scene& piece,
                                 std::uint64_t first_position) const {
    const auto base = static_cast<std::uint32_t>(first_position);
    std::vector<glm::uvec3> some;
    some.reserve(kPiece / sizeof(glm::uvec3));
    const auto flush = [&] {
        write(file, offset, some.data(), some.size() * sizeof(glm::uvec3));
        offset += some.size() * sizeof(glm::uvec3);
        some.clear();
    };
    for (const glm::uvec3& triangle : piece.triangles) {
        some.push_back(triangle + base);
        if (some.size() == some.capacity()) flush();
    }
    flush();
}

/// Adds the words of a stretch of a file to a digest.
void TreeWriter::add_words(scenes::Fnv& fnv, int file, std::uint64_t offset,
                           std::uint64_t words) const {
    for_pieces(offset, words * kWord, [&](std::uint64_t at, std::span<char> piece) {
        read(file, at, piece.data(), piece.size());
        fnv.add(piece.data(), piece.size() / kWord);
    });
}

std::uint64_t TreeWriter::digest_tree() const {
    const auto count = static_cast<std::uint32_t>(nodes_);
    return scenes::digest_words(
        std::array<std::uint64_t, 3>{1, nodes_ * sizeof(Node) / kWord, references_},
        [&](scenes::Fnv& fnv, std::size_t i, std::uint64_t first, std::uint64_t words) {
            if (i == 0) return fnv.add(&count, 1);
            if (i == 1)
                return add_words(fnv, file_.descriptor(), sizeof(Header) + first * kWord, words);
            add_words(fnv, references_file_.descriptor(), first * kWord, words);
        });
}

std::uint64_t TreeWriter::digest_scene(std::uint64_t triangles) const {
    constexpr std::uint64_t kWords = 3;  // of a position, and of a triangle
    return scenes::digest_words(
        std::array<std::uint64_t, 2>{kWords * positions_, kWords * triangles},
        [&](scenes::Fnv& fnv, std::size_t i, std::uint64_t first, std::uint64_t words) {
            const std::uint64_t begin = i == 0 ? scene_.positions : scene_.triangles;
            add_words(fnv, scene_.file, begin + first * kWord, words);
        });
}

/// Copies a stretch of another file to a place in the tree's.
void TreeWriter::copy(int from, std::uint64_t begin, std::uint64_t bytes, std::uint64_t to) const {
    constexpr std::uint64_t kChunk = 16 * kPiece;
    platform::for_chunks(bytes, kChunk, 0, [&](std::uint64_t first, std::uint64_t last) {
        for_pieces(first, last - first, [&](std::uint64_t at, std::span<char> piece) {
            read(from, begin + at, piece.data(), piece.size());
            write(file_.descriptor(), to + at, piece.data(), piece.size());
        });
    });
}

void TreeWriter::write_scene(const ReadPieces& read, const scenes::SceneFacts& facts) {
    scene_file_.emplace(path_);
    check(*scene_file_);
    write_scene(read, facts, {scene_file_->descriptor(), 0, facts.triangles * sizeof(glm::uvec3)});
}

void TreeWriter::write_scene(const ReadPieces& read, const scenes::SceneFacts& facts,
                             const ScenePlace& place) {
    scenes::SceneFacts found;
    std::uint64_t positions = 0;
    read([&](const scenes::Scene& piece, std::uint64_t first_position) {
        // Not over the positions, if there are more triangles than there should be.
        if (found.triangles + piece.triangles.size() > facts.triangles) return;
        write_triangles(place.file, place.triangles + found.triangles * sizeof(glm::uvec3), piece,
                        first_position);
        write(place.file, place.positions + first_position * sizeof(glm::vec3),
              piece.positions.data(), piece.positions.size() * sizeof(glm::vec3));
        positions = std::max<std::uint64_t>(positions, first_position + piece.positions.size());
        found.append(scenes::facts_of(piece));
    });
    if (!(found == facts)) {
        throw TreeFileError(path_ +
                            ": cannot be completed: the scene has changed since it was first "
                            "read; run the build again");
    }
    facts_ = facts;
    scene_ = place;
    positions_ = positions;
    scene_digest_ = digest_scene(facts.triangles);
}

std::uint64_t TreeWriter::finish(const scenes::Scene& scene, const BuildConfig& config) {
    const scenes::SceneFacts facts = scenes::facts_of(scene);
    const Layout at({.nodes = nodes_,
                     .references = references_,
                     .triangles = facts.triangles,
                     .positions = scene.positions.size()});
    write_scene([&](const scenes::UsePiece& use) { use(scene, 0); }, facts,
                {file_.descriptor(), at.triangles, at.positions});
    return finish(config).tree_digest;
}

TreeWriter::Finished TreeWriter::finish(const BuildConfig& config) {
    Header header{.scene_digest = scene_digest_,
                  .nodes = nodes_,
                  .references = references_,
                  .triangles = facts_.triangles,
                  .positions = positions_,
                  .bounds = {facts_.bounds.lo, facts_.bounds.hi},
                  .config = packed(config)};
    const Layout at(header);
    header.bytes = at.end;
    if (ftruncate(file_.descriptor(), static_cast<off_t>(at.end)) != 0) fail(std::strerror(errno));
    header.tree_digest = digest_tree();
    copy(references_file_.descriptor(), 0, references_ * sizeof(std::uint32_t), at.references);
    if (scene_.file != file_.descriptor()) {
        copy(scene_.file, scene_.triangles, header.triangles * sizeof(glm::uvec3), at.triangles);
        copy(scene_.file, scene_.positions, positions_ * sizeof(glm::vec3), at.positions);
    }
    write(file_.descriptor(), 0, &header, sizeof(header));
    header.checksum =
        checksum_of(header.bytes, [&](scenes::Fnv& fnv, std::uint64_t offset, std::uint64_t words) {
            add_words(fnv, file_.descriptor(), offset, words);
        });
    write(file_.descriptor(), 0, &header, sizeof(header));
    if (!file_.replace()) fail(std::strerror(errno));
    return {.tree_digest = header.tree_digest,
            .scene_digest = header.scene_digest,
            .positions = header.positions};
}

}  // namespace heapwood::kdtree
