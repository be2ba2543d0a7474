#include "tests/allocators/any_pool.h"

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

namespace heapwood::tests {

allocators::PoolUse AnyPool::use() const {
    allocators::PoolUse sum;
    for (const allocators::Region& r : regions()) sum.add(r);
    return sum;
}

void* allocate_on_host(std::size_t bytes) {
    void* p = std::calloc(bytes, 1);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

void run_on_host(const AnyMachine& machine, unsigned warps, const AnyBody& body) {
    std::visit(
        [&](const auto& b) {
            if (machine.width == 1) {
                SerialMachine::run(warps, b);
            } else {
                LockstepMachine::run(warps, b);
            }
        },
        body);
}

void throw_not_offered(const char* function) {
    throw std::logic_error(std::string("the allocator has no ") + function);
}

}  // namespace heapwood::tests
