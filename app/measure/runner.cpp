#include "app/measure/runner.h"

namespace heapwood::app {

Runner runner_of(const Backend& backend) {
    return {.name = backend.traits.name,
            .title = backend.traits.title,
            .full = backend.traits.full,
            .backend = &backend};
}

Runner prefix_sum_runner() {
    return {.name = "prefix-sum", .title = "without an allocator: a prefix sum over the sizes"};
}

bool has_lasting_heap(const Runner& runner) {
    return !runner.baseline() && runner.backend->gpu && runner.backend->traits.one_heap;
}

}  // namespace heapwood::app
