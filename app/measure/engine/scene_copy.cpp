#include "app/measure/engine/scene_copy.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "allocators/platform/file_bytes.h"

namespace heapwood::app {
namespace {

/// What stands before positions and triangles.
struct Head {
    std::uint64_t positions;
    std::uint64_t triangles;
    std::uint64_t degenerate;
    std::uint64_t overlapping;
    scenes::Bounds bounds;
};
static_assert(std::is_trivially_copyable_v<Head>);

template <class T>
std::uint64_t bytes_of(const std::vector<T>& values) {
    return values.size() * sizeof(T);
}

}  // namespace

SceneCopy::SceneCopy(const scenes::Scene& scene)
    : path_(scene.path), file_(memfd_create("scene", 0)) {
    const Head head{.positions = scene.positions.size(),
                    .triangles = scene.triangles.size(),
                    .degenerate = scene.degenerate,
                    .overlapping = scene.overlapping,
                    .bounds = scene.bounds};
    std::uint64_t end = 0;
    const auto write = [&](const void* from, std::uint64_t bytes) {
        const bool written = platform::write_at(file_, end, from, bytes);
        end += bytes;
        return written;
    };
    const bool done = file_ >= 0 && write(&head, sizeof head) &&
                      write(scene.positions.data(), bytes_of(scene.positions)) &&
                      write(scene.triangles.data(), bytes_of(scene.triangles));
    if (!done && file_ >= 0) close(std::exchange(file_, -1));
}

SceneCopy::SceneCopy(SceneCopy&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

SceneCopy::~SceneCopy() {
    if (file_ >= 0) close(file_);
}

Json SceneCopy::where() const {
    if (file_ < 0) return path_;
    return {{"scene", path_}, {"descriptor", file_}};
}

scenes::Scene read_scene_copy(const Json& where, unsigned threads) {
    if (where.is_string()) return scenes::load(where.get<std::string>(), threads);
    scenes::Scene scene;
    where.at("scene").get_to(scene.path);
    const int file = where.at("descriptor");
    Head head{};
    std::uint64_t at = 0;
    const auto read = [&](void* to, std::uint64_t bytes) {
        errno = 0;
        if (platform::read_at(file, at, to, bytes) != bytes) {
            throw std::runtime_error(scene.path + ": cannot be read from the program's memory: " +
                                     (errno != 0 ? std::strerror(errno) : "it is not whole"));
        }
        at += bytes;
    };
    read(&head, sizeof head);
    scene.positions.resize(head.positions);
    scene.triangles.resize(head.triangles);
    read(scene.positions.data(), bytes_of(scene.positions));
    read(scene.triangles.data(), bytes_of(scene.triangles));
    scene.degenerate = head.degenerate;
    scene.overlapping = head.overlapping;
    scene.bounds = head.bounds;
    return scene;
}

}  // namespace heapwood::app
