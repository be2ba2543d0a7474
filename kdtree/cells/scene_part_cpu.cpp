#include <cstddef>

#include "allocators/platform/for_chunks.h"
#include "kdtree/cells/scene_part_driver.h"
#include "kdtree/levels/cpu_levels.h"

namespace heapwood::kdtree {
namespace {

class CpuPart : public CpuLevels {
public:
    using CpuLevels::CpuLevels;

    struct Scope {};
    Scope enter() const { return {}; }

    template <class Use>
    void fetch(const void* from, std::uint64_t bytes, const Use& use) const {
        constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
        platform::for_chunks(bytes, kPiece, threads(), [&](std::uint64_t begin, std::uint64_t end) {
            use(static_cast<const std::byte*>(from) + begin, begin, end - begin);
        });
    }
};

}  // namespace

std::unique_ptr<ScenePart> scene_part_on_cpu(const scenes::Scene& scene, float scale,
                                             const BuildConfig& config, unsigned threads) {
    return std::make_unique<ScenePartOn<CpuPart>>(scene, scale, config, threads);
}

}  // namespace heapwood::kdtree
