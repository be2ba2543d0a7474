/// @file
/// The platform layer's tests on a GPU; skipped where there is none.
#include "tests/platform/atomic_tests.h"
#include "tests/platform/collective_tests.h"

namespace heapwood::tests {

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, CollectiveTest, DeviceMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, AtomicTest, DeviceMachine);

}  // namespace heapwood::tests
