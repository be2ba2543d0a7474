// Pairs of requests on a GPU.
#include "allocators/cfmmalloc.cuh"
#include "allocators/cmmalloc.cuh"
#include "allocators/hybrid.cuh"
#include "tests/allocators/pair_tests.h"

namespace heapwood::tests {

using Subjects = ::testing::Types<Subject<allocators::CMMalloc, DeviceMachine>,
                                  Subject<allocators::CFMMalloc, DeviceMachine>,
                                  Subject<allocators::Hybrid, DeviceMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(gpu, PairTest, Subjects);

}  // namespace heapwood::tests
