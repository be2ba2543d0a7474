/// @file
/// Writes and reads tree files.
#include "kdtree/tree/tree_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocators/memory/large_pages.h"
#include "allocators/platform/file_bytes.h"
#include "allocators/platform/for_chunks.h"
#include "kdtree/tree/tree_format.h"
#include "kdtree/tree/tree_writer.h"
#include "kdtree/tree/verify.h"
#include "scenes/digest.h"
#include "scenes/limits.h"
#include "scenes/obj/byte_source.h"

namespace heapwood::kdtree {
namespace {

using namespace tree_format;

constexpr const char* kRemedy = "write it anew with 'heapwood build SCENE --out FILE'";
constexpr const char* kNameOne = "; name one that 'heapwood build SCENE --out FILE' wrote";

/// A file that is read, with the errors of reading it.
class File {
public:
    explicit File(const std::string& path) : path_(path) {
        // A named pipe is refused below, not waited for.
        descriptor_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor_ < 0)
            refuse(std::string("cannot be opened: ") + std::strerror(errno) + kNameOne);
        struct stat facts {};
        const bool known = fstat(descriptor_, &facts) == 0;
        if (!known || !S_ISREG(facts.st_mode)) {
            close(descriptor_);
            refuse(std::string("is not a regular file") +
                   (known && S_ISDIR(facts.st_mode)
                        ? kNameOne
                        : std::string("; ") + scenes::kTreeThroughPipe));
        }
        size_ = static_cast<std::uint64_t>(facts.st_size);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { close(descriptor_); }

    std::uint64_t size() const { return size_; }

    void read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
        const std::uint64_t done = platform::read_at(descriptor_, offset, to, bytes);
        if (done == bytes) return;
        fail(offset + done, errno != 0 ? std::string("cannot be read: ") + std::strerror(errno)
                                       : "the file ends here: it is being changed, or was cut off");
    }

    /// The `count` items of a section.
    template <class T>
    std::vector<T> section(std::uint64_t offset, std::uint64_t count) const {
        std::vector<T> items(count);
        read(offset, items.data(), count * sizeof(T));
        return items;
    }

    [[noreturn]] void fail(std::uint64_t offset, const std::string& what) const {
        refuse("byte " + std::to_string(offset) + ": " + what + "; " + kRemedy);
    }

private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw TreeFileError(path_ + ": " + what);
    }

    std::string path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
};

void check_kind(const File& file, const Header& header) {
    if (header.magic != kMagic) file.fail(0, "this is not a tree file");
    if (header.byte_order != kByteOrder) {
        file.fail(offsetof(Header, byte_order),
                  header.byte_order == 0x04030201
                      ? "the file is big-endian, and tree files are little-endian"
                      : "this is not the mark of the order of bytes");
    }
    if (header.version != kVersion) {
        file.fail(offsetof(Header, version),
                  "the file has version " + std::to_string(header.version) +
                      ", and this program reads version " + std::to_string(kVersion));
    }
}

/// The header of a file that is of the right kind and as long as the header says.
Header read_header(const File& file) {
    if (file.size() < sizeof(Header)) {
        file.fail(file.size(), "the file ends within its header of " +
                                   std::to_string(sizeof(Header)) + " bytes");
    }
    Header header;
    file.read(0, &header, sizeof(header));
    check_kind(file, header);
    const auto check = [&](const char* what, std::size_t offset, std::uint64_t count,
                           std::uint64_t most) {
        if (count == 0 || count > most) {
            file.fail(offset, "the file has " + std::to_string(count) + " " + what +
                                  "; there are 1 to " + std::to_string(most));
        }
    };
    constexpr std::uint64_t kWords = std::numeric_limits<std::uint32_t>::max();
    check("nodes", offsetof(Header, nodes), header.nodes, Node::kLimit);
    check("references", offsetof(Header, references), header.references, kWords);
    check("triangles", offsetof(Header, triangles), header.triangles, scenes::kMaxTriangles);
    check("positions", offsetof(Header, positions), header.positions, kWords + 1);
    const std::uint64_t end = Layout(header).end;
    if (header.bytes != end) {
        file.fail(offsetof(Header, bytes),
                  "the file is said to have " + std::to_string(header.bytes) +
                      " bytes, but its counts add up to " + std::to_string(end));
    }
    if (file.size() != end) {
        file.fail(std::min(file.size(), end),
                  "the file has " + std::to_string(file.size()) + " bytes, but its header says " +
                      std::to_string(end) + ": it was cut off or changed");
    }
    return header;
}

/// What is between sections, and not used as yet, is zero: equal trees have equal files.
void check_zeroes(const File& file, const Header& header) {
    const auto check = [&file](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = begin; at != end; ++at) {
            char byte = 0;
            file.read(at, &byte, 1);
            if (byte != 0) file.fail(at, "this byte has no meaning, and has to be zero");
        }
    };
    const Layout at(header);
    check(offsetof(Header, reserved), sizeof(Header));
    check(at.nodes + header.nodes * sizeof(Node), at.references);
    check(at.references + header.references * sizeof(std::uint32_t), at.triangles);
    check(at.triangles + header.triangles * sizeof(glm::uvec3), at.positions);
    check(at.positions + header.positions * sizeof(glm::vec3), at.end);
}

void check_checksum(const File& file, const Header& header) {
    const auto add = [&file](scenes::Fnv& fnv, std::uint64_t offset, std::uint64_t words) {
        for_pieces(offset, words * sizeof(std::uint32_t),
                   [&](std::uint64_t at, std::span<char> piece) {
                       file.read(at, piece.data(), piece.size());
                       fnv.add(piece.data(), piece.size() / sizeof(std::uint32_t));
                   });
    };
    if (checksum_of(file.size(), add) != header.checksum) {
        file.fail(offsetof(Header, checksum),
                  "the checksum is not that of the contents: the file was changed");
    }
}

BuildConfig read_config(const File& file, const Header& header) {
    BuildConfig config;
    std::size_t i = 0;
    each_field(config, [&]<class Field>(Field& field) {
        const std::uint32_t word = header.config.at(i);
        if constexpr (std::is_same_v<Field, float>) {
            field = std::bit_cast<float>(word);
        } else {
            const bool fits = !std::is_same_v<Field, bool> || word <= 1;
            if (!fits || (std::is_same_v<Field, EmptyRule> &&
                          word > static_cast<std::uint32_t>(EmptyRule::tests))) {
                file.fail(offsetof(Header, config) + 4 * i,
                          std::to_string(word) + " is no value of this parameter");
            }
            field = static_cast<Field>(word);
        }
        ++i;
    });
    try {
        validate(config);
    } catch (const std::invalid_argument& error) {
        file.fail(offsetof(Header, config), error.what());
    }
    return config;
}

scenes::Scene read_scene(const File& file, const Header& header, const Layout& at) {
    scenes::Scene scene;
    scene.triangles = file.section<glm::uvec3>(at.triangles, header.triangles);
    scene.positions = file.section<glm::vec3>(at.positions, header.positions);
    for (std::size_t i = 0; i < scene.triangles.size(); ++i) {
        const glm::uvec3& t = scene.triangles[i];
        const std::uint64_t largest = std::max({t.x, t.y, t.z});
        if (largest >= header.positions) {
            file.fail(at.triangles + sizeof(t) * i, "triangle " + std::to_string(i) +
                                                        " has position " + std::to_string(largest) +
                                                        " of " + std::to_string(header.positions));
        }
    }
    for (std::size_t i = 0; i < scene.positions.size(); ++i) {
        const glm::vec3& p = scene.positions[i];
        for (const float x : {p.x, p.y, p.z}) {
            if (!std::isfinite(x) || (x == 0 && std::signbit(x))) {
                file.fail(at.positions + sizeof(p) * i,
                          "position " + std::to_string(i) + " is not finite, or -0");
            }
        }
    }
    if (scenes::digest(scene) != header.scene_digest) {
        file.fail(offsetof(Header, scene_digest), "the digest is not that of the triangles");
    }
    scenes::finish(scene);
    return scene;
}

Tree read_tree(const File& file, const Header& header, const Layout& at) {
    Tree tree{.nodes = file.section<Node>(at.nodes, header.nodes),
              .references = file.section<std::uint32_t>(at.references, header.references),
              .bounds = header.bounds};
    if (digest(tree) != header.tree_digest) {
        file.fail(offsetof(Header, tree_digest), "the digest is not that of the tree");
    }
    return tree;
}

}  // namespace

bool is_tree_file(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    std::string begin(scenes::kTreeFileBegin.size(), '\0');
    std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin));
    return begin == scenes::kTreeFileBegin;
}

allocators::Buffer tree_file(const Tree& tree, const scenes::Scene& scene,
                             const BuildConfig& config) {
    Header header{.tree_digest = digest(tree),
                  .scene_digest = scenes::digest(scene),
                  .nodes = tree.nodes.size(),
                  .references = tree.references.size(),
                  .triangles = scene.triangles.size(),
                  .positions = scene.positions.size(),
                  .bounds = tree.bounds,
                  .config = packed(config)};
    const Layout at(header);
    header.bytes = at.end;
    allocators::Buffer file(allocators::Place::host, at.end);
    allocators::prefer_large_pages(file);
    auto* const bytes = file.as<char>();
    const auto put = [bytes](std::uint64_t offset, std::uint64_t end, const auto& items) {
        const auto* const from = reinterpret_cast<const char*>(items.data());
        const std::uint64_t size = items.size() * sizeof(items[0]);
        platform::for_chunks(size, kPiece, 0, [&](std::uint64_t begin, std::uint64_t stop) {
            std::memcpy(bytes + offset + begin, from + begin, stop - begin);
        });
        std::memset(bytes + offset + size, 0, end - offset - size);
    };
    put(at.nodes, at.references, tree.nodes);
    put(at.references, at.triangles, tree.references);
    put(at.triangles, at.positions, scene.triangles);
    put(at.positions, at.end, scene.positions);
    std::memcpy(bytes, &header, sizeof(header));
    header.checksum =
        checksum_of(at.end, [bytes](scenes::Fnv& fnv, std::uint64_t offset, std::uint64_t words) {
            fnv.add(bytes + offset, words);
        });
    std::memcpy(bytes, &header, sizeof(header));
    return file;
}

void save_tree(const std::string& path, const Tree& tree, const scenes::Scene& scene,
               const BuildConfig& config) {
    TreeWriter writer(path);
    writer.add_nodes(tree.nodes);
    writer.add_references(tree.references);
    writer.finish(scene, config);
}

StoredTree load_tree(const std::string& path) {
    const File file(path);
    const Header header = read_header(file);
    check_checksum(file, header);
    check_zeroes(file, header);
    const Layout at(header);
    StoredTree stored{.tree = {}, .scene = {}, .config = read_config(file, header)};
    stored.scene = read_scene(file, header, at);
    stored.scene.path = path;
    stored.tree = read_tree(file, header, at);
    const auto depth = max_depth(stored.config, header.triangles);
    if (const auto wrong = verify_structure(stored.scene, stored.tree, depth)) {
        file.fail(at.nodes, *wrong);
    }
    return stored;
}

}  // namespace heapwood::kdtree
