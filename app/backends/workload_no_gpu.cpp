#include <stdexcept>

#include "app/backends/workload_machine.h"

namespace heapwood::app {

std::unique_ptr<WorkloadMachine> gpu_workloads() {
    throw std::runtime_error("this program was built without CUDA");
}

}  // namespace heapwood::app
