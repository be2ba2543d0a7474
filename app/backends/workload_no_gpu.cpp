#include <stdexcept>

#include "app/measure/stage.h"

namespace heapwood::app {

std::unique_ptr<WorkloadStage> gpu_stage() {
    throw std::runtime_error("this program was built without CUDA");
}

}  // namespace heapwood::app
