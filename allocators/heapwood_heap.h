/**
 * @file
 * Heaps with a C interface, for programs that know no templates: C, CUDA C++, Numba, Julia, Rust.
 *
 * The library heapwood::heap has these functions, over one allocator that was chosen when it was
 * built (HEAPWOOD_HEAP_ALLOCATOR). The host makes a heap and gives its handle to kernels, as a
 * pointer. Threads of kernels then call heapwood_malloc() and its relatives: as device functions
 * these are in heapwood::device_heap. Heaps of the host (HEAPWOOD_ON_HOST) are for threads of a CPU.
 *
 * heap/ref.cuh says what each call of a thread promises: it is HeapRef with a handle for an object.
 */
#ifndef HEAPWOOD_HEAP_H
#define HEAPWOOD_HEAP_H

#include <stddef.h>
#include <stdint.h>

#if !defined(HEAPWOOD_CALL)
#if defined(__CUDACC__)
#define HEAPWOOD_CALL __host__ __device__
#else
#define HEAPWOOD_CALL
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The handle of a heap: an address of the machine where the heap is, which only that machine can
 *  look up. It stays the same as long as the heap lives. */
typedef struct heapwood_heap heapwood_heap;

enum heapwood_place { HEAPWOOD_ON_DEVICE = 0, HEAPWOOD_ON_HOST = 1 };

/** What a heap is made from. All zeroes but `bytes` is a heap on the current device. */
typedef struct heapwood_heap_options {
    uint64_t bytes;            /**< of the pool; with `memory`, of that memory */
    enum heapwood_place place;
    uint32_t callers;          /**< about how many warps, or threads, call at once; 0: all */
    void* memory;              /**< where the heap is to lie: it belongs to the caller, who frees
                                    it after the heap. NULL: the heap has memory of its own */
} heapwood_heap_options;

/** What is in use. Only while no kernel uses the heap. */
typedef struct heapwood_heap_use {
    uint64_t pool_bytes;      /**< in all parts of the heap */
    uint64_t overhead_bytes;  /**< of tables beside it */
    uint64_t allocated_bytes; /**< in blocks, with what the heap and the allocator add to them */
    uint64_t free_bytes;
    uint64_t largest_free;    /**< bytes of the largest free part: about the largest request */
} heapwood_heap_use;

/* Functions of the host. A heap that kernels use must not be reset, grown, measured or destroyed.
 * Those that return an int return 0, or another number when they fail: then heapwood_heap_error()
 * is a sentence that says why, for the calling thread, and nothing has changed. */

/** Makes a heap. NULL if it fails. */
heapwood_heap* heapwood_heap_create(const heapwood_heap_options* options);
/** Ends a heap. All blocks end with it. NULL is ignored. */
int heapwood_heap_destroy(heapwood_heap* heap);
/** Frees all blocks. */
int heapwood_heap_reset(heapwood_heap* heap);
/** Adds `bytes` bytes to the pool. No block moves. A block lies in one part: none is larger than
 *  the largest part that was added. At most 31 times. */
int heapwood_heap_grow(heapwood_heap* heap, uint64_t bytes);
/** From now on the heap also grows while kernels use it: a call that finds no memory waits, for at
 *  most `patience_ms` milliseconds, while a thread of the host adds `step` bytes or more to the pool,
 *  up to `most` bytes in all. At most 31 times, with those of heapwood_heap_grow(). Fails on a GPU
 *  without virtual memory management. A second call changes the limits. */
int heapwood_heap_grow_automatically(heapwood_heap* heap, uint64_t step, uint64_t most,
                                     uint32_t patience_ms);
/** Measures what is in use. */
int heapwood_heap_get_use(heapwood_heap* heap, heapwood_heap_use* use);
/** Why the calling thread's last function of these failed; "" if none has. */
const char* heapwood_heap_error(void);
/** The name of the allocator. */
const char* heapwood_heap_allocator(void);

/* Functions of the threads that use a heap, any number at once. */

HEAPWOOD_CALL void* heapwood_malloc(heapwood_heap* heap, size_t bytes);
HEAPWOOD_CALL void* heapwood_calloc(heapwood_heap* heap, size_t count, size_t bytes);
HEAPWOOD_CALL void* heapwood_realloc(heapwood_heap* heap, void* block, size_t bytes);
HEAPWOOD_CALL void* heapwood_aligned_alloc(heapwood_heap* heap, size_t alignment, size_t bytes);
HEAPWOOD_CALL void heapwood_free(heapwood_heap* heap, void* block);
HEAPWOOD_CALL size_t heapwood_usable_size(heapwood_heap* heap, const void* block);

#ifdef __cplusplus
}
#endif

#endif
