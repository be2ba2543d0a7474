/// @file
/// The platform layer's tests on a CPU.
#include "tests/allocators/platform/atomic_order_tests.h"
#include "tests/allocators/platform/atomic_tests.h"
#include "tests/allocators/platform/collective_tests.h"

namespace heapwood::tests {

using CpuMachines = ::testing::Types<SerialMachine, LockstepMachine>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, CollectiveTest, CpuMachines);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, AtomicTest, CpuMachines);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, AtomicOrderTest, CpuMachines);

}  // namespace heapwood::tests
