/// @file
/// What stands in for allocators/platform/crowd.cuh in the conformance suite on a CPU: a lane of a
/// LockstepWarp mostly takes itself for one of several.
#pragma once

#include "tests/allocators/platform/lane_groups.h"

namespace heapwood::platform {

/// As the real one. Not always true, because lanes of a GPU's warp need not agree on it.
inline bool is_crowded() {
    thread_local unsigned calls = 0;
    return tests::groups_of_caller != nullptr && ++calls % 4 != 0;
}

}  // namespace heapwood::platform
