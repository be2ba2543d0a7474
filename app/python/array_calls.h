/// @file
/// What calls for many rays, and for many points, have in common: arrays of any library in, arrays
/// where those lie out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "allocators/memory/buffer.h"
#include "allocators/memory/large_pages.h"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/device.h"
#include "app/python/interruptible.h"
#include "app/python/objects.h"
#include "app/python/ray_calls.h"

namespace heapwood::python {

namespace nb = nanobind;

using VectorArray = nb::ndarray<const float, nb::shape<-1, 3>>;
using NumberArray = nb::ndarray<const float, nb::ndim<1>>;
using End = std::variant<NumberArray, double>;

/// Arrays of Python's that results go to, in one row.
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig>;

/// How Python asks for a batch. Without a stream a call waits for its results.
struct Call {
    const RaySource& tree;
    kdtree::BatchOptions options;
    bool waits;
};

/// Checks where an array lies; the first one, the origins or points, decides where all must.
template <class Array>
void require_place(const Array& array, const VectorArray& first, const char* what,
                   const char* than = "origins") {
    if (array.device_type() == first.device_type() && array.device_id() == first.device_id()) {
        return;
    }
    throw std::invalid_argument(std::string(what) + " lies on another device than the " + than +
                                ": copy it to theirs");
}

/// Checks an array that results of rays or points go to, whose name `what` is.
template <class T>
void require_room(const Out<T>& out, const VectorArray& first, std::uint64_t numbers,
                  const char* what = "rays", const char* than = "origins") {
    require_place(out, first, "out", than);
    if (out.size() == numbers) return;
    throw std::invalid_argument("out has " + std::to_string(out.size()) + " numbers for " +
                                std::to_string(numbers) + " of the " + what);
}

inline allocators::Place place_of(const VectorArray& array) {
    switch (array.device_type()) {
        case nb::device::cpu::value:
        case nb::device::cuda_host::value:
            return allocators::Place::host;
        case nb::device::cuda::value:
        case nb::device::cuda_managed::value:
            return allocators::Place::device;
        default:
            throw std::invalid_argument(
                "arrays lie on the CPU or on a GPU of CUDA's, not on device type " +
                std::to_string(array.device_type()) + " of DLPack");
    }
}

/// @param place where the rays or points lie, whose name `what` is
inline Call call_of(const RaySource& tree, allocators::Place place,
                    const kdtree::BatchOptions& options, std::optional<std::uintptr_t> stream,
                    const std::string& what = "rays") {
    if (place == allocators::Place::device && tree.place() == allocators::Place::host) {
        throw std::invalid_argument(
            "the " + what + " lie on a GPU, but the tree on the CPU: ask tree.to(\"cuda\")");
    }
    if (place == allocators::Place::host && stream) {
        throw std::invalid_argument("stream is for " + what +
                                    " on a GPU, but these lie on the CPU");
    }
    Call call{tree, options, !stream};
    call.options.stream = reinterpret_cast<void*>(stream.value_or(0));
    return call;
}

/// The tree, laid out. @throws std::invalid_argument if the arrays lie on another GPU.
inline const kdtree::RayTree& laid_out(const Call& call, const VectorArray& origins) {
    const kdtree::RayTree& tree = call.tree.rays();
    const int device = call.tree.device();
    if (call.tree.place() == allocators::Place::host) return tree;
    if (place_of(origins) == allocators::Place::device && origins.device_id() != device) {
        throw std::invalid_argument("the arrays lie on GPU " + std::to_string(origins.device_id()) +
                                    ", but the tree on GPU " + std::to_string(device));
    }
    if (platform::current_device() != device) {
        throw std::invalid_argument("the tree lies on GPU " + std::to_string(device) +
                                    ", but GPU " + std::to_string(platform::current_device()) +
                                    " is the current one: choose the tree's");
    }
    return tree;
}

/// An array of Python's in memory that `owner` holds: NumPy's on the host, anything that takes
/// DLPack on a device.
template <class T>
nb::object array_of(T* data, std::initializer_list<std::size_t> shape, const nb::capsule& owner,
                    allocators::Place place, int device) {
    if (place == allocators::Place::host)
        return nb::cast(nb::ndarray<nb::numpy, T>(data, shape, owner));
    return nb::cast(
        nb::ndarray<T>(data, shape, owner, {}, nb::dtype<T>(), nb::device::cuda::value, device));
}

/// The blocks of the last arrays that Python has given up, on the host and on a GPU, for the next
/// results. The system clears every page of the host that it gives, and CUDA's malloc and free wait
/// for the GPU: both take as long as a part of the rays. Any thread may call.
class LastResults {
public:
    /// A block of at least `bytes` bytes, of less than twice `bytes` if it is a kept one. If the
    /// call may wait, it waits until all that used such a block of the current GPU is done; else it
    /// gets a new one.
    allocators::Buffer take(allocators::Place place, std::uint64_t bytes, bool may_wait) {
        const bool on_host = place == allocators::Place::host;
        if (allocators::Buffer kept; (on_host || may_wait) && take_kept(place, bytes, kept)) {
            if (!on_host) platform::wait_for_device();
            return kept;
        }
        allocators::Buffer fresh(place, bytes);
        allocators::prefer_large_pages(fresh);
        return fresh;
    }
    /// Keeps it, in the place of the one before. @param device of one on a GPU
    void keep(allocators::Buffer block, int device) {
        if (block.size() > kMost) return;
        const std::lock_guard lock(mutex_);
        Kept& last = of(block.place());
        last.device = device;
        std::swap(last.block, block);
    }

private:
    struct Kept {
        allocators::Buffer block;
        int device = 0;
    };
    static constexpr std::uint64_t kMost = std::uint64_t{256} << 20;

    Kept& of(allocators::Place place) {
        return place == allocators::Place::host ? on_host_ : on_device_;
    }
    /// Whether there is a kept block that fits, which `to` then is.
    bool take_kept(allocators::Place place, std::uint64_t bytes, allocators::Buffer& to) {
        const std::lock_guard lock(mutex_);
        Kept& last = of(place);
        if (last.block.size() < bytes || last.block.size() / 2 >= bytes) return false;
        if (place == allocators::Place::device && last.device != platform::current_device())
            return false;
        to = std::move(last.block);
        return true;
    }

    std::mutex mutex_;
    Kept on_host_;
    Kept on_device_;
};

/// The process's.
inline LastResults& last_results() {
    // Not destroyed: arrays of Python's may live as long as the process.
    static auto* const last = new LastResults;
    return *last;
}

/// Arrays that share one block of memory, so that a batch asks for memory once.
class Results {
public:
    /// @param may_wait as of LastResults::take
    Results(allocators::Place place, std::uint64_t bytes, bool may_wait)
        : block_{last_results().take(place, bytes + kSlack, may_wait),
                 place == allocators::Place::device ? platform::current_device() : 0} {}

    /// Room for `count` of T, aligned as DLPack asks for.
    template <class T>
    T* array(std::uint64_t count) {
        T* data = reinterpret_cast<T*>(block_.buffer.as<std::byte>() + used_);
        used_ += platform::round_up(count * sizeof(T), kAlignment);
        return data;
    }
    allocators::Place place() const { return block_.buffer.place(); }
    nb::capsule owner() && {
        return {new Block(std::move(block_)), [](void* block) noexcept {
                    const std::unique_ptr<Block> owned(static_cast<Block*>(block));
                    last_results().keep(std::move(owned->buffer), owned->device);
                }};
    }

private:
    struct Block {
        allocators::Buffer buffer;
        int device;
    };
    static constexpr std::uint64_t kAlignment = 256;
    static constexpr std::uint64_t kSlack = 4 * kAlignment;

    Block block_;
    std::uint64_t used_ = 0;
};

/// Batches of fewer rays or points end so soon that a second thread would take a part of their
/// time.
inline constexpr std::uint64_t kLong = 1 << 14;

/// Runs a batch without Python's lock: trace(tree laid out, how) and then, if the call waits,
/// waits.
template <class Trace>
void run(const Call& call, const VectorArray& origins, std::uint64_t count, const Trace& trace) {
    const auto held = call.tree.hold();
    const kdtree::RayTree& tree = laid_out(call, origins);
    if (tree.place() == allocators::Place::host && count >= kLong) {
        return run_interruptibly([&](std::stop_token stop) {
            kdtree::BatchOptions options = call.options;
            options.stop = std::move(stop);
            trace(tree, options);
        });
    }
    trace(tree, call.options);
    if (call.waits) kdtree::wait(tree, call.options);
}

}  // namespace heapwood::python
