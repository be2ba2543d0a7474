#include "scenes/pieces.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "scenes/generators.h"
#include "scenes/scene_list.h"

namespace heapwood::scenes {
namespace {

constexpr std::uint64_t kPieceTriangles = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxPositions = std::uint64_t{1} << 32;

/// The triangles from `begin` to `end`, and the positions that they need.
Scene part_of(const Scene& whole, std::uint32_t begin, std::uint32_t end) {
    constexpr auto kUnused = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> places(whole.positions.size(), kUnused);
    Scene part;
    part.triangles.assign(whole.triangles.begin() + begin, whole.triangles.begin() + end);
    for (glm::uvec3& triangle : part.triangles) {
        for (int corner = 0; corner < 3; ++corner) {
            std::uint32_t& place = places[triangle[corner]];
            if (place == kUnused) {
                place = static_cast<std::uint32_t>(part.positions.size());
                part.positions.push_back(whole.positions[triangle[corner]]);
            }
            triangle[corner] = place;
        }
    }
    finish(part);
    return part;
}

void generate_pieces(const GeneratorRequest& request, const UsePiece& use) {
    for (std::uint64_t begin = 0; begin < request.triangles; begin += kPieceTriangles) {
        const Piece piece =
            generate(request, begin, std::min(begin + kPieceTriangles, request.triangles));
        use(piece.scene, piece.first_position);
    }
}

/// From `from` / `of` of a scene that is no list to `to` / `of`.
Share load_fraction(const std::string& name, std::uint64_t from, std::uint64_t to, std::uint64_t of,
                    unsigned threads) {
    Share share;
    Magnitudes beyond;
    if (is_generator(name)) {
        const GeneratorRequest request = parse_generator(name);
        const std::uint64_t n = request.triangles;
        share.scene = generate(request, range_begin(n, from, of), range_begin(n, to, of)).scene;
    } else {
        const Scene whole = load(name, threads);
        beyond = magnitudes(whole.positions);
        const std::uint64_t n = whole.triangles.size();
        share.scene = part_of(whole, range_begin(n, from, of), range_begin(n, to, of));
        // Which share has them is not known, so the first one counts all.
        if (from == 0) share.scene.overlapping = whole.overlapping;
    }
    share.facts = facts_of(share.scene);
    share.facts.magnitudes.add(beyond);
    return share;
}

}  // namespace

void append(Scene& scene, const Scene& next) {
    if (next.triangles.size() > kMaxTriangles - scene.triangles.size() ||
        next.positions.size() > kMaxPositions - scene.positions.size()) {
        throw SceneError("more than " + std::to_string(kMaxTriangles) +
                         " triangles or 2^32 vertices with those before; leave some out");
    }
    scene.overlapping += next.overlapping;
    const auto base = static_cast<std::uint32_t>(scene.positions.size());
    scene.positions.insert(scene.positions.end(), next.positions.begin(), next.positions.end());
    scene.triangles.reserve(scene.triangles.size() + next.triangles.size());
    for (const glm::uvec3& triangle : next.triangles) scene.triangles.push_back(triangle + base);
}

void read_in_pieces(const std::string& name, const UsePiece& use, unsigned threads) {
    if (is_generator(name)) return generate_pieces(parse_generator(name), use);
    if (!is_list(name)) return use(load(name, threads), 0);
    std::uint64_t before = 0;
    for (const ListedScene& listed : read_list(name)) {
        std::uint64_t positions = 0;
        with_place(listed, [&](const std::string& one) {
            const auto use_it = [&](const Scene& piece, std::uint64_t first_position) {
                use(piece, before + first_position);
                positions =
                    std::max<std::uint64_t>(positions, first_position + piece.positions.size());
            };
            read_in_pieces(one, use_it, threads);
        });
        before += positions;
        if (before > kMaxPositions) {
            throw SceneError(listed.where + "more than 2^32 vertices with those before");
        }
    }
}

Share load_share(const std::string& name, std::uint32_t i, std::uint32_t n, unsigned threads) {
    Share share;
    if (!is_list(name)) {
        share = load_fraction(name, i, i + 1, n, threads);
    } else {
        // Scene k is between k * n and (k + 1) * n, and share i is as long as all scenes together.
        const std::vector<ListedScene> list = read_list(name);
        const std::uint64_t begin = list.size() * i, end = begin + list.size();
        for (std::uint64_t k = begin / n; k * n < end; ++k) {
            with_place(list[k], [&](const std::string& one) {
                const std::uint64_t from = std::max(begin, k * n) - k * n;
                const std::uint64_t to = std::min(end, (k + 1) * n) - k * n;
                const Share some = load_fraction(one, from, to, n, threads);
                append(share.scene, some.scene);
                share.facts.append(some.facts);
            });
        }
        finish(share.scene);
    }
    share.scene.path = name;
    return share;
}

std::uint64_t expected_triangles(const std::string& name, std::uint32_t n) {
    if (is_list(name)) {
        std::uint64_t all = 0;
        for (const ListedScene& listed : read_list(name)) all += expected_triangles(listed.name, 1);
        return all;
    }
    if (is_generator(name)) return parse_generator(name).triangles / n;
    // The shortest face and its vertices; compressed, more are in as many bytes, but few are so
    // short.
    constexpr std::uint64_t kBytes = 20;
    std::error_code none;
    const std::uintmax_t bytes = std::filesystem::file_size(name, none);
    return none ? 0 : bytes / kBytes;
}

}  // namespace heapwood::scenes
