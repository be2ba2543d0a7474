/// @file
/// A stand-in for an allocator that exists, in nobody's style but its own: its owner cannot be
/// moved or emptied, a program has one at a time, which static state of pile.cpp counts, part of it
/// is a source file, and strict compilers warn of its header.
#ifndef PILE_H
#define PILE_H

#include <stddef.h>

#if defined(__CUDACC__)
#define PILE_FN __host__ __device__
#else
#define PILE_FN
#endif

struct pile_top {
    unsigned long long used;
};

class Pile {
public:
    /// The memory and the counter, which is 0, are the caller's. Throws if there is a pile already.
    Pile(void* memory, size_t size, pile_top* top);
    ~Pile();
    Pile(const Pile&) = delete;

    char* memory;
    size_t size;
    pile_top* top;
};

PILE_FN inline void* pile_malloc(char* memory, size_t size, pile_top* top, size_t n, int flags) {
    if (n == 0 || n > size) return 0;
    unsigned long long bytes = (n + 15) / 16 * 16;
#if defined(__CUDA_ARCH__)
    unsigned long long at = atomicAdd(&top->used, bytes);
#else
    unsigned long long at = __atomic_fetch_add(&top->used, bytes, __ATOMIC_RELAXED);
#endif
    if (at + bytes <= size) return memory + at;
#if defined(__CUDA_ARCH__)
    atomicAdd(&top->used, 0 - bytes);
#else
    __atomic_fetch_sub(&top->used, bytes, __ATOMIC_RELAXED);
#endif
    return 0;
}

#endif
