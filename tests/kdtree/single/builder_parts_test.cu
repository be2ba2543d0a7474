/// @file
/// The builder's parts on a GPU.
#include "tests/kdtree/single/task_queue_tests.h"
#include "tests/kdtree/split/split_tests.h"

namespace heapwood::kdtree::tests {

using Machines = ::testing::Types<heapwood::tests::DeviceMachine>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, SplitTest, Machines);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, TaskQueueTest, Machines);

}  // namespace heapwood::kdtree::tests
