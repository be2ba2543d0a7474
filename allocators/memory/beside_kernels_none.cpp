/// @file
/// What stands in for beside_kernels.cu in a program built without CUDA: it refuses.
#include <stdexcept>

#include "allocators/memory/beside_kernels.h"

namespace heapwood::allocators {

struct BesideKernels::Parts {};

BesideKernels::BesideKernels() {
    throw std::runtime_error(
        "no pool grows beside a GPU's kernels: this program was built without CUDA; use the CPU, "
        "or build it where nvcc is found");
}
BesideKernels::~BesideKernels() = default;

// The constructor throws, so no caller reaches these functions.
void* BesideKernels::pinned() const {
    throw std::logic_error("there is no CUDA");
}
MemorySource& BesideKernels::memory() const {
    throw std::logic_error("there is no CUDA");
}
void* BesideKernels::reserve(std::uint64_t) const {
    throw std::logic_error("there is no CUDA");
}
std::uint64_t BesideKernels::map(void*, std::uint64_t, std::uint64_t) const {
    throw std::logic_error("there is no CUDA");
}
void BesideKernels::give_up(void*, std::uint64_t, std::uint64_t) const noexcept {}
void BesideKernels::wait() const noexcept {}
BesideKernels::Scope::Scope(const BesideKernels& device)
    : source_(device.memory()), outer_(nullptr) {}
BesideKernels::Scope::~Scope() = default;

}  // namespace heapwood::allocators
