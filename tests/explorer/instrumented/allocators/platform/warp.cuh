/// @file
/// What stands in for allocators/platform/warp.cuh in the explorer's tests: the real one, but for
/// the pause before a retry, in which the explorer lets others get on.
#pragma once

#include "tests/explorer/explorer.h"

#define back_off real_back_off
#include "../../../../../allocators/platform/warp.cuh"
#undef back_off

namespace heapwood::platform {

/// As the real one.
inline void back_off(unsigned) {
    tests::explorer::yield();
}

}  // namespace heapwood::platform
