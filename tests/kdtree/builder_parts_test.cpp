/// @file
/// The builder's parts on a CPU.
#include "split_tests.h"
#include "task_queue_tests.h"

namespace heapwood::kdtree::tests {

using Machines = ::testing::Types<heapwood::tests::SerialMachine, heapwood::tests::LockstepMachine>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, SplitTest, Machines);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, TaskQueueTest, Machines);

}  // namespace heapwood::kdtree::tests
