/// @file
/// BesideKernels by CUDA's virtual memory calls and copy engines.
#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/memory/beside_kernels.h"
#include "allocators/memory/source.h"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/cuda_runtime.h"

namespace heapwood::allocators {

namespace detail {

/// A stream that waits for no other, and pinned memory through which it copies.
struct CopyEngine {
    static constexpr std::uint64_t kStagingBytes = 1 << 20;

    CopyEngine() {
        platform::check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                             "making a stream");
        const cudaError_t status = cudaHostAlloc(
            &staging, kStagingBytes + BesideKernels::kPinnedBytes, cudaHostAllocMapped);
        if (status == cudaSuccess) return;
        static_cast<void>(cudaStreamDestroy(stream));
        throw BufferError("allocating pinned memory failed: " + platform::cuda_failure(status));
    }
    // A destructor cannot report.
    ~CopyEngine() {
        static_cast<void>(cudaFreeHost(staging));
        static_cast<void>(cudaStreamDestroy(stream));
    }
    CopyEngine(const CopyEngine&) = delete;
    CopyEngine& operator=(const CopyEngine&) = delete;

    void copy(void* to, const void* from, std::uint64_t bytes, cudaMemcpyKind kind) const {
        platform::check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "copying");
    }
    void wait() const { platform::check_cuda(cudaStreamSynchronize(stream), "copying"); }

    cudaStream_t stream = nullptr;
    void* staging = nullptr;
};

namespace {

thread_local CopyEngine* innermost = nullptr;

}  // namespace

CopyEngine* active_copy_engine() noexcept {
    return innermost;
}

void copy_in(CopyEngine& engine, void* to, const void* from, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes; done += CopyEngine::kStagingBytes) {
        const std::uint64_t now = std::min(CopyEngine::kStagingBytes, bytes - done);
        std::memcpy(engine.staging, static_cast<const char*>(from) + done, now);
        engine.copy(static_cast<char*>(to) + done, engine.staging, now, cudaMemcpyHostToDevice);
        engine.wait();
    }
}

void copy_out(CopyEngine& engine, void* to, const void* from, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes; done += CopyEngine::kStagingBytes) {
        const std::uint64_t now = std::min(CopyEngine::kStagingBytes, bytes - done);
        engine.copy(engine.staging, static_cast<const char*>(from) + done, now,
                    cudaMemcpyDeviceToHost);
        engine.wait();
        std::memcpy(static_cast<char*>(to) + done, engine.staging, now);
    }
}

void copy_byte(CopyEngine& engine, void* to, unsigned char value, std::uint64_t bytes) {
    if (bytes == 0) return;
    std::memset(engine.staging, value, std::min(CopyEngine::kStagingBytes, bytes));
    for (std::uint64_t done = 0; done < bytes; done += CopyEngine::kStagingBytes) {
        const std::uint64_t now = std::min(CopyEngine::kStagingBytes, bytes - done);
        engine.copy(static_cast<char*>(to) + done, engine.staging, now, cudaMemcpyHostToDevice);
    }
    engine.wait();
}

void copy_words(CopyEngine& engine, std::uint32_t* to, const Word* words, std::size_t count) {
    constexpr std::size_t kBatch = CopyEngine::kStagingBytes / sizeof(std::uint32_t);
    auto* const values = static_cast<std::uint32_t*>(engine.staging);
    for (std::size_t done = 0; done < count; done += kBatch) {
        const std::size_t now = std::min(kBatch, count - done);
        for (std::size_t i = 0; i < now; ++i) {
            const Word& word = words[done + i];
            values[i] = word.value;
            engine.copy(to + word.index, values + i, sizeof(std::uint32_t), cudaMemcpyHostToDevice);
        }
        engine.wait();
    }
}

}  // namespace detail

namespace {

/// CUDA's virtual memory calls, as its driver gives them.
struct VirtualMemoryCalls {
    decltype(&cuDeviceGetAttribute) get_attribute;
    decltype(&cuGetErrorString) error_string;
    decltype(&cuMemGetAllocationGranularity) granularity;
    decltype(&cuMemAddressReserve) reserve;
    decltype(&cuMemAddressFree) free_addresses;
    decltype(&cuMemCreate) create;
    decltype(&cuMemRelease) release;
    decltype(&cuMemMap) map;
    decltype(&cuMemUnmap) unmap;
    decltype(&cuMemSetAccess) set_access;

    VirtualMemoryCalls() {
        find(get_attribute, "cuDeviceGetAttribute");
        find(error_string, "cuGetErrorString");
        find(granularity, "cuMemGetAllocationGranularity");
        find(reserve, "cuMemAddressReserve");
        find(free_addresses, "cuMemAddressFree");
        find(create, "cuMemCreate");
        find(release, "cuMemRelease");
        find(map, "cuMemMap");
        find(unmap, "cuMemUnmap");
        find(set_access, "cuMemSetAccess");
    }
    /// @throws BufferError where memory is short, else std::runtime_error
    void check(CUresult result, const char* what) const {
        if (result == CUDA_SUCCESS) return;
        const char* said = nullptr;
        if (error_string(result, &said) != CUDA_SUCCESS) said = "an unknown error";
        const std::string why = std::string("CUDA: ") + what + ": " + said;
        if (result == CUDA_ERROR_OUT_OF_MEMORY) throw BufferError(why);
        throw std::runtime_error(why);
    }

private:
    template <class Function>
    static void find(Function& function, const char* name) {
        constexpr unsigned kVersion = 12000;
        void* found = nullptr;
        cudaDriverEntryPointQueryResult answer{};
        const cudaError_t status =
            cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &answer);
        if (status != cudaSuccess || answer != cudaDriverEntryPointSuccess || found == nullptr) {
            throw std::runtime_error(
                std::string("CUDA's driver has no ") + name +
                ", so no pool grows while a kernel runs; grow it between "
                "kernels" +
                (status == cudaSuccess ? std::string() : ": " + platform::cuda_failure(status)));
        }
        function = reinterpret_cast<Function>(found);
    }
};

/// Ranges of addresses, each mapped to memory of its own.
class MappedMemory final : public MemorySource {
public:
    explicit MappedMemory(int device) : MemorySource(Place::device) {
        int has_it = 0;
        calls_.check(calls_.get_attribute(
                         &has_it, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device),
                     "asking for virtual memory management");
        if (has_it == 0) {
            throw std::runtime_error(
                "this GPU has no virtual memory management, so no pool grows while a kernel runs; "
                "grow it between kernels");
        }
        properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        properties_.location.id = device;
        std::size_t unit = 0;
        calls_.check(calls_.granularity(&unit, &properties_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                     "asking for the granularity of memory");
        unit_ = unit;
    }

    void* allocate(std::uint64_t asked) override {
        void* const data = reserve(asked);
        try {
            static_cast<void>(map(data, 0, asked));
        } catch (...) {
            give_up(data, asked, 0);
            throw;
        }
        return data;
    }
    void deallocate(void* data, std::uint64_t asked) noexcept override {
        give_up(data, asked, asked);
    }

    void* reserve(std::uint64_t asked) const {
        CUdeviceptr at = 0;
        calls_.check(calls_.reserve(&at, platform::round_up(asked, unit_), 0, 0, 0),
                     "reserving addresses");
        return reinterpret_cast<void*>(at);
    }
    std::uint64_t map(void* data, std::uint64_t from, std::uint64_t to) const {
        from = platform::round_up(from, unit_);
        to = platform::round_up(to, unit_);
        if (from < to) map_range(reinterpret_cast<CUdeviceptr>(data) + from, to - from);
        return to;
    }
    // Destructors call this, and cannot report.
    void give_up(void* data, std::uint64_t asked, std::uint64_t mapped) const noexcept {
        const auto at = reinterpret_cast<CUdeviceptr>(data);
        if (mapped > 0) static_cast<void>(calls_.unmap(at, platform::round_up(mapped, unit_)));
        static_cast<void>(calls_.free_addresses(at, platform::round_up(asked, unit_)));
    }

private:
    void map_range(CUdeviceptr at, std::uint64_t bytes) const {
        CUmemGenericAllocationHandle memory = 0;
        calls_.check(calls_.create(&memory, bytes, &properties_, 0), "making memory");
        const CUresult mapped = calls_.map(at, bytes, 0, memory, 0);
        // What is mapped lives until it is unmapped.
        static_cast<void>(calls_.release(memory));
        calls_.check(mapped, "mapping memory");
        const CUmemAccessDesc access{properties_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        const CUresult allowed = calls_.set_access(at, bytes, &access, 1);
        if (allowed != CUDA_SUCCESS) static_cast<void>(calls_.unmap(at, bytes));
        calls_.check(allowed, "allowing access to memory");
    }

    VirtualMemoryCalls calls_;
    CUmemAllocationProp properties_{};
    std::uint64_t unit_ = 0;
};

int current_device() {
    int device = 0;
    platform::check_cuda(cudaGetDevice(&device), "asking for the current device");
    return device;
}

}  // namespace

struct BesideKernels::Parts {
    int device = current_device();
    MappedMemory memory{device};
    detail::CopyEngine engine;
};

BesideKernels::BesideKernels() : parts_(std::make_unique<Parts>()) {}
BesideKernels::~BesideKernels() = default;

void* BesideKernels::pinned() const {
    return static_cast<char*>(parts_->engine.staging) + detail::CopyEngine::kStagingBytes;
}

MemorySource& BesideKernels::memory() const {
    return parts_->memory;
}

void* BesideKernels::reserve(std::uint64_t bytes) const {
    return parts_->memory.reserve(bytes);
}

std::uint64_t BesideKernels::map(void* addresses, std::uint64_t from, std::uint64_t to) const {
    return parts_->memory.map(addresses, from, to);
}

void BesideKernels::give_up(void* addresses, std::uint64_t bytes,
                            std::uint64_t mapped) const noexcept {
    parts_->memory.give_up(addresses, bytes, mapped);
}

void BesideKernels::wait() const noexcept {
    int before = 0;
    if (cudaGetDevice(&before) != cudaSuccess) return;
    static_cast<void>(cudaSetDevice(parts_->device));
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaSetDevice(before));
}

BesideKernels::Scope::Scope(const BesideKernels& device)
    : source_(device.memory()), device_before_(current_device()) {
    platform::check_cuda(cudaSetDevice(device.parts_->device), "changing to another device");
    outer_ = std::exchange(detail::innermost, &device.parts_->engine);
}

BesideKernels::Scope::~Scope() {
    detail::innermost = outer_;
    static_cast<void>(cudaSetDevice(device_before_));
}

}  // namespace heapwood::allocators
