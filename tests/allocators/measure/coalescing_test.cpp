// Coalescing on a CPU: an allocator that frees nothing, one whose blocks can be split, and one that
// needs a count.
#include "allocators/awmalloc.cuh"
#include "allocators/circular.cuh"
#include "tests/allocators/measure/coalescing_tests.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

using allocators::AtomicMalloc;
using allocators::AWMalloc;
using allocators::CFMalloc;
using allocators::Coalescing;

[[maybe_unused]] const bool coalescing_variants_are_enlisted =
    enlist<Coalescing<AtomicMalloc>, SerialMachine>("coalescing_atomicmalloc") &&
    enlist<Coalescing<AWMalloc>, SerialMachine>("coalescing_awmalloc") &&
    enlist<Coalescing<CFMalloc>, SerialMachine>("coalescing_cfmalloc");

using Subjects =
    ::testing::Types<Subject<AtomicMalloc, SerialMachine>, Subject<AtomicMalloc, LockstepMachine>,
                     Subject<AWMalloc, SerialMachine>, Subject<AWMalloc, LockstepMachine>,
                     Subject<CFMalloc, SerialMachine>, Subject<CFMalloc, LockstepMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, CoalescingTest, Subjects);

}  // namespace heapwood::tests
