/// @file
/// Builds with any pool behind virtual functions (tests/allocators/any_pool.h), so that the builder
/// is compiled once for each kind of allocator that it knows, and not for each allocator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocators/memory/array_pool.h"
#include "kdtree/build_result.h"
#include "kdtree/config.h"
#include "kdtree/single/build_memory.h"
#include "scenes/scene.h"
#include "tests/allocators/subjects.h"

namespace heapwood::kdtree::tests {

/// Who builds.
struct Crew {
    unsigned warps;
    bool lockstep;  ///< warps of 32 threads each; else each warp is one thread

    std::string name() const;
};

/// How a build ended.
struct Ending {
    Status status = Status::done;
    std::uint64_t failed_bytes = 0;  ///< of a request that was refused
    std::uint64_t digest = 0;        ///< of the tree, if it is done
};

/// A scene in memory, and any number of builds of its tree by one crew. Refers to the scene.
class FaultyBuilder {
public:
    FaultyBuilder(const scenes::Scene& scene, const BuildConfig& config, const Crew& crew);

    /// A pool for these builds. @throws what the allocator's constructor throws
    std::unique_ptr<heapwood::tests::AnyPool> make(const heapwood::tests::AnySubject& subject,
                                                   std::uint64_t pool_bytes) const;
    /// One build, in the pool as it is. Too few nodes or references are no ending: the arrays are
    /// enlarged, and the build is begun anew.
    Ending build(heapwood::tests::AnyPool& pool, bool allocates_pairs);

private:
    void run(heapwood::tests::AnyPool& pool, bool allocates_pairs) const;

    Crew crew_;
    std::uint64_t root_bytes_;
    allocators::ArrayPool array_pool_;
    BuildMemory memory_;
};

}  // namespace heapwood::kdtree::tests
