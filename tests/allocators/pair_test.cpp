// Pairs of requests on a CPU.
#include "allocators/adaptors/counting.cuh"
#include "allocators/adaptors/limiting.cuh"
#include "allocators/cfmmalloc.cuh"
#include "allocators/cmmalloc.cuh"
#include "allocators/hybrid.cuh"
#include "tests/allocators/pair_tests.h"

namespace heapwood::tests {

using Subjects = ::testing::Types<
    Subject<allocators::CMMalloc, SerialMachine>, Subject<allocators::CMMalloc, LockstepMachine>,
    Subject<allocators::CFMMalloc, SerialMachine>, Subject<allocators::CFMMalloc, LockstepMachine>,
    Subject<allocators::Hybrid, SerialMachine>, Subject<allocators::Hybrid, LockstepMachine>>;
using AdaptedSubjects = ::testing::Types<
    Subject<allocators::Counting<allocators::Limiting<allocators::Hybrid>>, SerialMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, PairTest, Subjects);
INSTANTIATE_TYPED_TEST_SUITE_P(adapted, PairTest, AdaptedSubjects);

}  // namespace heapwood::tests
