#include <pile.h>

#include <atomic>
#include <stdexcept>

static std::atomic<int> piles;

Pile::Pile(void* memory, size_t size, pile_top* top)
    : memory(static_cast<char*>(memory)), size(size), top(top) {
    if (piles.exchange(PILES) != 0) throw std::runtime_error("there is a pile already");
}

Pile::~Pile() {
    piles = 0;
}
