/// @file
/// Vectors on their way to where workloads run, and back.
#pragma once

#include <vector>

#include "allocators/memory/buffer.h"

namespace heapwood::app {

/// A copy there. @throws what Buffer throws.
template <class T>
allocators::Buffer uploaded(allocators::Place place, const std::vector<T>& values) {
    allocators::Buffer buffer(place, values.size() * sizeof(T));
    buffer.write(0, values.data(), buffer.size());
    return buffer;
}

/// A copy of all of it here. @throws what Buffer::read() throws.
template <class T>
std::vector<T> downloaded(const allocators::Buffer& buffer) {
    std::vector<T> values(buffer.size() / sizeof(T));
    buffer.read(0, values.data(), buffer.size());
    return values;
}

}  // namespace heapwood::app
