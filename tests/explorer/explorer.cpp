#include "tests/explorer/explorer.h"

#include <cstring>

#include "tests/explorer/memory.h"
#include "tests/explorer/search.h"

namespace heapwood::tests::explorer {
namespace {

/// Of the exploration that runs.
Explorer* current = nullptr;

bool plainly() {
    return current == nullptr || current->is_aside();
}

std::uintptr_t address_of(const void* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

}  // namespace

Result explore(const Program& program, const Bounds& bounds, const Mutation& mutation) {
    Explorer explorer(program, bounds, mutation);
    current = &explorer;
    Result result = explorer.run();
    current = nullptr;
    return result;
}

std::uint64_t atomic_load(const void* object, unsigned size, Order order, const Site& site) {
    if (plainly()) return Memory::peek(address_of(object), size);
    return current->load(address_of(object), size, order, site);
}

void atomic_store(void* object, unsigned size, std::uint64_t value, Order order, const Site& site) {
    if (plainly()) {
        std::memcpy(object, &value, size);
    } else {
        current->store(address_of(object), size, value, order, site);
    }
}

std::uint64_t atomic_update(void* object, unsigned size,
                            std::uint64_t (*change)(std::uint64_t, std::uint64_t),
                            std::uint64_t operand, Order order, const Site& site, bool answers) {
    if (!plainly()) {
        return current->update(address_of(object), size, change, operand, order, site, answers);
    }
    const std::uint64_t before = Memory::peek(address_of(object), size);
    const std::uint64_t after = change(before, operand);
    std::memcpy(object, &after, size);
    return before;
}

bool atomic_compare_swap(void* object, unsigned size, std::uint64_t& expected,
                         std::uint64_t desired, Order success, Order failure, const Site& site) {
    if (!plainly()) {
        return current->compare_swap(address_of(object), size, expected, desired, success, failure,
                                     site);
    }
    const std::uint64_t found = Memory::peek(address_of(object), size);
    const bool swaps = found == expected;
    if (swaps) std::memcpy(object, &desired, size);
    expected = found;
    return swaps;
}

Group join_lanes(const void* word, std::uint32_t key, const Site& site) {
    return plainly() ? Group{} : current->join_lanes(address_of(word), key, site);
}
std::uint64_t exchange_with(unsigned partner, std::uint64_t value) {
    return current->exchange_with(partner, value);
}
void sync_with(unsigned partner, const Site& site) {
    current->sync_with(partner, site);
}

unsigned thread() {
    return current->running();
}
unsigned warp() {
    return current->warp();
}
void begin_operation(const char* text, std::uint64_t argument) {
    current->begin_operation(text, argument);
}
bool end_operation(std::uint64_t result) {
    return current->end_operation(result);
}
void access(const void* p, std::uint64_t bytes) {
    if (!plainly()) current->access(address_of(p), bytes);
}
void poke(std::uint32_t& word, std::uint32_t value) {
    if (plainly()) {
        word = value;
    } else {
        current->poke(word, value);
    }
}
void yield() {
    if (!plainly()) current->yield();
}
void fail(const std::string& what) {
    current->fail(what);
}

Aside::Aside() {
    current->enter_aside();
}
Aside::~Aside() {
    current->leave_aside();
}

}  // namespace heapwood::tests::explorer
