/// @file
/// The builder's parts on a GPU.
#include "split_tests.h"
#include "task_queue_tests.h"

namespace heapwood::kdtree::tests {

using Machines = ::testing::Types<heapwood::tests::DeviceMachine>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, SplitTest, Machines);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, TaskQueueTest, Machines);

}  // namespace heapwood::kdtree::tests
