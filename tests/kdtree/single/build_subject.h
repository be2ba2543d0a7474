/// @file
/// Builds with an allocator on a machine as plain functions, so that the tests of builds are
/// compiled once for all of them. A source file enlists its subjects; the tests find them in the
/// list.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/single/frames.h"

namespace heapwood::kdtree::tests {

/// An allocator on a machine of tests/kdtree/build_machines.h.
struct BuildSubject {
    std::string name;          ///< in the tests' names: letters, digits and underscores
    unsigned threads;          ///< host threads or lanes that run at once; 0 on a GPU
    std::uint64_t triangles;   ///< how large a scene it builds in a moment
    std::uint64_t pool_bytes;  ///< of a pool that is large enough
    bool allocates_pairs;
    allocators::Traits traits;
    bool (*available)();
    std::uint32_t (*warps)(const BuildConfig&);
    BuildResult (*build)(const scenes::Scene&, const BuildConfig&, std::uint64_t pool_bytes);
    Attempt (*attempt)(const scenes::Scene&, const BuildConfig&, std::uint64_t pool_bytes,
                       const Refusals&);
    /// Digests of frames' trees (frames.h).
    std::vector<std::uint64_t> (*rebuild)(const std::vector<scenes::Scene>&, const BuildConfig&,
                                          std::uint64_t pool_bytes);
};

/// All subjects of the executable: complete when main() begins.
std::deque<BuildSubject>& build_subjects();

/// Enlists A on M. To be called once, to initialise a static variable. @return true
template <class A, class M>
bool enlist_builds(const std::string& allocator) {
    build_subjects().push_back(
        {.name = allocator + "_" + M::name(),
         .threads = M::kThreads,
         .triangles = M::kTriangles,
         .pool_bytes = kPoolBytes<M>,
         .allocates_pairs = allocators::AllocatesPairs<typename A::Ref>,
         .traits = A::traits(),
         .available = &M::available,
         .warps = [](const BuildConfig& config) { return M::template make<A>(config).warps(); },
         .build =
             [](const scenes::Scene& scene, const BuildConfig& config, std::uint64_t pool_bytes) {
                 return build_on<A>(M::template make<A>(config), scene, config,
                                    {.pool_bytes = pool_bytes});
             },
         .attempt = &attempt<A, M>,
         .rebuild = &rebuild_all<A, M>});
    return true;
}

}  // namespace heapwood::kdtree::tests
