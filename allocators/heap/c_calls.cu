/// @file
/// The C interface of the threads that use a heap, for those of a GPU.
#define HEAPWOOD_CALL __device__
#include "allocators/heap/c_calls.cpp"
