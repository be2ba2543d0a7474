// Coalescing on a GPU.
#include "allocators/awmalloc.cuh"
#include "allocators/circular.cuh"
#include "tests/allocators/measure/coalescing_tests.h"

namespace heapwood::tests {

using Subjects = ::testing::Types<Subject<allocators::AtomicMalloc, DeviceMachine>,
                                  Subject<allocators::AWMalloc, DeviceMachine>,
                                  Subject<allocators::CFMalloc, DeviceMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(gpu, CoalescingTest, Subjects);

}  // namespace heapwood::tests
