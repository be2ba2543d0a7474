#include "kdtree/tree/tree_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "allocators/platform/threads.h"
#include "kdtree/tree/tree_file.h"
#include "kdtree/tree/tree_format.h"

namespace heapwood::kdtree {
namespace {

using namespace tree_format;

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;  ///< bytes that are read at a time

}  // namespace

TreeWriter::TreeWriter(const std::string& path) : path_(path) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
    if (error) fail(error.message());
    if (std::filesystem::exists(target, error) &&
        !std::filesystem::is_regular_file(target, error)) {
        fail("it is not a regular file");
    }
    target_ = target.string();
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    constexpr mode_t kMode = 0666;  // less the user's mask
    std::string aside = target_ + ".XXXXXX";
    references_file_ = mkostemp(aside.data(), O_CLOEXEC);
    if (references_file_ < 0) fail(std::strerror(errno));
    unlink(aside.c_str());
    for (int number = 1; file_ < 0 && (number == 1 || errno == EEXIST); ++number) {
        fresh_ = target_;
        if (number > 1) fresh_.append(".").append(std::to_string(number));
        fresh_ += ".new";
        file_ = open(fresh_.c_str(), kFlags, kMode);
    }
    if (file_ >= 0) return;
    const int why = errno;
    close(references_file_);
    fail(std::strerror(why));
}

TreeWriter::~TreeWriter() {
    close(references_file_);
    if (file_ < 0) return;
    close(file_);
    unlink(fresh_.c_str());
}

void TreeWriter::fail(const std::string& why) const {
    throw TreeFileError(path_ + ": cannot be written: " + why + "; name another file");
}

void TreeWriter::write(int file, std::uint64_t offset, const void* from,
                       std::uint64_t bytes) const {
    const auto* at = static_cast<const char*>(from);
    while (bytes != 0) {
        const ssize_t n = pwrite(file, at, bytes, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) fail(std::strerror(errno));
        at += n;
        offset += static_cast<std::uint64_t>(n);
        bytes -= static_cast<std::uint64_t>(n);
    }
}

void TreeWriter::read(int file, std::uint64_t offset, void* to, std::uint64_t bytes) const {
    auto* at = static_cast<char*>(to);
    while (bytes != 0) {
        const ssize_t n = pread(file, at, bytes, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail(std::strerror(errno));
        if (n == 0) fail("another process changes it");
        at += n;
        offset += static_cast<std::uint64_t>(n);
        bytes -= static_cast<std::uint64_t>(n);
    }
}

/// Calls use(bytes, size, offset) for pieces of a file, one after another.
template <class Use>
void TreeWriter::read_words(int file, std::uint64_t offset, std::uint64_t bytes,
                            const Use& use) const {
    std::vector<char> piece(std::min(bytes, kPiece));
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t n = std::min(kPiece, bytes - done);
        read(file, offset + done, piece.data(), n);
        use(piece.data(), n, done);
        done += n;
    }
}

void TreeWriter::add_nodes(std::span<const Node> nodes) {
    write(file_, sizeof(Header) + nodes_ * sizeof(Node), nodes.data(), nodes.size_bytes());
    nodes_ += nodes.size();
}

void TreeWriter::set_node(std::uint32_t place, const Node& node) {
    write(file_, sizeof(Header) + place * sizeof(Node), &node, sizeof(node));
}

void TreeWriter::add_references(std::span<const std::uint32_t> references) {
    write(references_file_, references_ * sizeof(std::uint32_t), references.data(),
          references.size_bytes());
    references_ += references.size();
}

void TreeWriter::clear() {
    nodes_ = references_ = 0;
    for (const int file : {file_, references_file_}) {
        if (ftruncate(file, 0) != 0) fail(std::strerror(errno));
    }
}

/// Writes a piece's triangles, with the numbers that positions have in the whole scene.
void TreeWriter::write_triangles(std::uint64_t offset, const scenes::Scene& piece,
                                 std::uint64_t first_position) const {
    const auto base = static_cast<std::uint32_t>(first_position);
    std::vector<glm::uvec3> some;
    some.reserve(kPiece / sizeof(glm::uvec3));
    const auto flush = [&] {
        write(file_, offset, some.data(), some.size() * sizeof(glm::uvec3));
        offset += some.size() * sizeof(glm::uvec3);
        some.clear();
    };
    for (const glm::uvec3& triangle : piece.triangles) {
        some.push_back(triangle + base);
        if (some.size() == some.capacity()) flush();
    }
    flush();
}

std::uint64_t TreeWriter::finish(const scenes::Scene& scene, const BuildConfig& config) {
    const auto read = [&](const scenes::UsePiece& use) { use(scene, 0); };
    return finish(read, scenes::facts_of(scene), config).tree_digest;
}

/// Adds the words of a stretch of a file to a digest.
void TreeWriter::add_words(scenes::Fnv& hash, int file, std::uint64_t offset,
                           std::uint64_t bytes) const {
    read_words(file, offset, bytes, [&](const char* some, std::uint64_t size, std::uint64_t) {
        std::uint32_t word;
        for (std::uint64_t i = 0; i < size; i += sizeof(word)) {
            std::memcpy(&word, some + i, sizeof(word));
            hash.add(word);
        }
    });
}

std::uint64_t TreeWriter::digest_tree() const {
    scenes::Fnv tree;
    tree.add(static_cast<std::uint32_t>(nodes_));
    add_words(tree, file_, sizeof(Header), nodes_ * sizeof(Node));
    add_words(tree, references_file_, 0, references_ * sizeof(std::uint32_t));
    return tree.value();
}

/// Writes all that stands behind the nodes. @param header to which the scene's numbers are added
void TreeWriter::write_scene(const ReadPieces& read_pieces, const scenes::SceneFacts& facts,
                             Header& header) const {
    scenes::SceneFacts found;
    read_pieces([&](const scenes::Scene& piece, std::uint64_t first_position) {
        const Layout at(header);  // but for its end
        write_triangles(at.triangles + found.triangles * sizeof(glm::uvec3), piece, first_position);
        write(file_, at.positions + first_position * sizeof(glm::vec3), piece.positions.data(),
              piece.positions.size() * sizeof(glm::vec3));
        header.positions =
            std::max<std::uint64_t>(header.positions, first_position + piece.positions.size());
        found.append(scenes::facts_of(piece));
    });
    if (!(found == facts)) {
        throw TreeFileError(path_ +
                            ": cannot be completed: the scene has changed since it was first "
                            "read; run the build again");
    }
    const Layout at(header);
    header.bytes = at.end;
    if (ftruncate(file_, static_cast<off_t>(at.end)) != 0) fail(std::strerror(errno));
    read_words(references_file_, 0, references_ * sizeof(std::uint32_t),
               [&](const char* bytes, std::uint64_t size, std::uint64_t done) {
                   write(file_, at.references + done, bytes, size);
               });
    scenes::Fnv scene;
    add_words(scene, file_, at.positions, header.positions * sizeof(glm::vec3));
    add_words(scene, file_, at.triangles, header.triangles * sizeof(glm::uvec3));
    header.scene_digest = scene.value();
}

TreeWriter::Finished TreeWriter::finish(const ReadPieces& read_pieces,
                                        const scenes::SceneFacts& facts,
                                        const BuildConfig& config) {
    Header header{.nodes = nodes_,
                  .references = references_,
                  .triangles = facts.triangles,
                  .bounds = {facts.bounds.lo, facts.bounds.hi},
                  .config = packed(config)};
    // The tree's digest takes about as long as the scene, and needs nothing of it.
    std::uint64_t tree_digest = 0;
    platform::run_threads(2, [&](std::uint32_t thread, std::uint32_t threads) {
        if (thread == 0) write_scene(read_pieces, facts, header);
        if (thread + 1 == threads) tree_digest = digest_tree();
    });
    header.tree_digest = tree_digest;
    write(file_, 0, &header, sizeof(header));
    Checksum checksum;
    read_words(file_, 0, header.bytes, [&](const char* bytes, std::uint64_t size, std::uint64_t) {
        checksum.add(bytes, size);
    });
    header.checksum = checksum.value();
    write(file_, 0, &header, sizeof(header));
    if (rename(fresh_.c_str(), target_.c_str()) != 0) fail(std::strerror(errno));
    close(file_);
    file_ = -1;
    return {.tree_digest = header.tree_digest,
            .scene_digest = header.scene_digest,
            .positions = header.positions};
}

}  // namespace heapwood::kdtree
