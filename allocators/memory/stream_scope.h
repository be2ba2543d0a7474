/// @file
/// A GPU's stream for code that knows of none. The contract of allocators has a reset() without a
/// stream; in a scope it is stream-ordered all the same, and can be captured in a CUDA graph.
#pragma once

namespace heapwood::allocators {

/// While a scope lives, its thread's work on a GPU goes to a stream of the current device, in
/// order: what Buffers and blocks of an ArrayPool write and fill, and builds that are begun. None
/// of it waits, so the memory must live until the stream has come past. A read waits for the
/// stream, and cannot be captured. Making and freeing memory is no work on a stream.
///
/// What is written may change as soon as the call returns. Up to 64 KiB at a time are parameters of
/// kernels, which a graph keeps; more is a copy from the host's pageable memory, which CUDA may
/// wait for, and which throws std::runtime_error in a capture.
///
/// Without CUDA it changes nothing. Scopes may be nested: the innermost counts.
class StreamScope {
public:
    /// @param stream a cudaStream_t; nullptr: the default stream
    explicit StreamScope(void* stream) noexcept;
    ~StreamScope();
    StreamScope(const StreamScope&) = delete;
    StreamScope& operator=(const StreamScope&) = delete;

    /// Whether this thread is in a scope; and its stream, nullptr outside.
    static bool active() noexcept;
    static void* stream() noexcept;

private:
    void* stream_;
    const StreamScope* outer_;
};

}  // namespace heapwood::allocators
