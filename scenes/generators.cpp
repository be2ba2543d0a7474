#include "scenes/generators.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "scenes/number.h"
#include "scenes/shapes.h"

namespace heapwood::scenes {
namespace {

using Make = void (*)(Mesh&, ShapeSize);

struct Entry {
    GeneratorInfo info;
    Make make;
};

constexpr auto kEntries = std::to_array<Entry>({
    {{"sphere", "a bumpy sphere, like a scanned object"}, make_sphere},
    {{"terrain", "a height field"}, make_terrain},
    {{"city", "axis-aligned boxes on a ground"}, make_city},
    {{"soup", "unconnected random triangles in a cube"}, make_soup},
    {{"hair", "long thin bent strands on a ball"}, make_hair},
    {{"stadium", "a small dense object in huge sparse surroundings"}, make_stadium},
    {{"slivers", "unconnected needles in all directions"}, make_slivers},
    {{"plane", "all triangles in one plane"}, make_plane},
    {{"coincident", "all triangles equal"}, make_coincident},
});

constexpr auto kInfos = [] {
    std::array<GeneratorInfo, kEntries.size()> infos;
    for (std::size_t i = 0; i != infos.size(); ++i) infos[i] = kEntries[i].info;
    return infos;
}();

const Entry* find(std::string_view name) {
    for (const Entry& entry : kEntries) {
        if (entry.info.name == name) return &entry;
    }
    return nullptr;
}

std::string names() {
    std::string list;
    for (const GeneratorInfo& info : kInfos) {
        if (!list.empty()) list += ", ";
        list += info.name;
    }
    return list;
}

void check(const std::string& what, const GeneratorRequest& request) {
    if (find(request.generator) == nullptr) {
        throw SceneError(what + ": no generator '" + request.generator + "'; there are " + names());
    }
    if (request.triangles == 0 || request.triangles > kMaxTriangles) {
        throw SceneError(what + ": a scene has 1 to " + std::to_string(kMaxTriangles) +
                         " triangles, not " + std::to_string(request.triangles));
    }
}

}  // namespace

std::span<const GeneratorInfo> generators() {
    return kInfos;
}

GeneratorRequest parse_generator(const std::string& name) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0; from <= name.size();) {
        const std::size_t colon = std::min(name.find(':', from), name.size());
        parts.push_back(std::string_view(name).substr(from, colon - from));
        from = colon + 1;
    }
    if (parts.front() != "gen" || parts.size() < 3 || parts.size() > 4) {
        throw SceneError(name + ": write gen:NAME:TRIANGLES or gen:NAME:TRIANGLES:SEED, as in " +
                         "gen:soup:10000:1; the names are " + names());
    }
    GeneratorRequest request;
    request.generator = parts[1];
    const auto triangles = read_plain_number<std::uint64_t>(parts[2]);
    if (!triangles) {
        throw SceneError(name + ": '" + std::string(parts[2]) +
                         "' is no number of triangles; write 1 to " +
                         std::to_string(kMaxTriangles) + " in digits");
    }
    request.triangles = *triangles;
    if (parts.size() == 4) {
        const auto seed = read_plain_number<std::uint64_t>(parts[3]);
        if (!seed) {
            throw SceneError(name + ": '" + std::string(parts[3]) +
                             "' is no seed; write 0 to 18446744073709551615 in digits");
        }
        request.seed = *seed;
    }
    check(name, request);
    return request;
}

Scene generate(const GeneratorRequest& request) {
    return generate(request, 0, request.triangles).scene;
}

Piece generate(const GeneratorRequest& request, std::uint64_t first, std::uint64_t last) {
    Piece piece;
    Scene& scene = piece.scene;
    scene.path = std::string(kGeneratorPrefix) + request.generator + ":" +
                 std::to_string(request.triangles) + ":" + std::to_string(request.seed);
    check(scene.path, request);
    Mesh mesh(piece, first, last);
    find(request.generator)->make(mesh, {request.triangles, request.seed});
    finish(scene);
    return piece;
}

}  // namespace heapwood::scenes
