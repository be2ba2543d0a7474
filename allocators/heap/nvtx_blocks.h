/// @file
/// NvtxBlocks: shows the blocks of a guarded heap to tools, by NVTX's memory regions.
///
///     allocators::GuardedHeap<allocators::Cambium> heap(bytes);
///     fill<<<blocks, threads>>>(heap.ref());      // takes blocks
///     cudaDeviceSynchronize();
///     {
///         const allocators::NvtxBlocks shown(heap, "lists");
///         use<<<blocks, threads>>>(lists);        // neither takes blocks nor frees them
///         cudaDeviceSynchronize();
///     }
///
/// `compute-sanitizer --nvtx yes` then finds the very instruction that reads or writes beyond a
/// block or after its free: for it the allocation of CUDA's in which the pool lies is a heap in
/// which the blocks in use are all that there is. (It takes no smaller range for a heap.) A kernel
/// that takes blocks or frees them would be blamed: NVTX is told of regions by the host alone, and
/// the heap's own words lie between them. So would one that uses other memory of the allocation, if
/// the pool is a piece of the caller's. A pool in several allocations cannot be shown to
/// compute-sanitizer.
///
/// Without a tool the calls of NVTX do nothing. A program that does not include this file has none
/// of them. It needs the headers of the CUDA toolkit, and the C library's dlopen().
#pragma once

#include <dlfcn.h>
#include <nvtx3/nvToolsExtMem.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocators/heap/guarded.cuh"

namespace heapwood::allocators {

/// Shows blocks from its constructor to its destructor. Neither copyable nor movable.
class NvtxBlocks {
public:
    /// Shows the blocks that are in use. No kernel uses the heap meanwhile but through these
    /// blocks, and the heap outlives this object.
    /// @param name what tools call the heap
    template <Allocator A>
    explicit NvtxBlocks(const GuardedHeap<A>& heap, std::string name = "heapwood")
        : name_(std::move(name)) {
        for (const HeapFinding& block : heap.report().leaks) {
            blocks_.push_back({block.bytes, pointer(block.address)});
        }
        if (!blocks_.empty()) show(GuardedRef<A>::kZone);
    }
    ~NvtxBlocks() {
        if (blocks_.empty()) return;
        std::vector<nvtxMemRegionRef_t> regions;
        for (const nvtxMemVirtualRangeDesc_t& block : blocks_) regions.push_back({block.ptr});
        nvtxMemRegionsUnregisterBatch_t batch{};
        batch.extCompatID = NVTX_EXT_COMPATID_MEM;
        batch.structSize = sizeof batch;
        batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
        batch.refCount = regions.size();
        batch.refElementSize = sizeof(nvtxMemRegionRef_t);
        batch.refElements = regions.data();
        nvtxMemRegionsUnregister(nullptr, &batch);
        nvtxMemHeapUnregister(nullptr, heap_);
    }
    NvtxBlocks(const NvtxBlocks&) = delete;
    NvtxBlocks& operator=(const NvtxBlocks&) = delete;

    /// How many blocks are shown.
    std::size_t size() const { return blocks_.size(); }

private:
    static const void* pointer(std::uint64_t address) {
        return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
    }

    /// The allocation of CUDA's that has an address; an empty range of what is not CUDA's.
    static nvtxMemVirtualRangeDesc_t allocation_of(const void* address) {
        // A program without the driver has no memory of CUDA's.
        void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (driver == nullptr) return {};
        using Find = int (*)(std::uint64_t * begin, std::size_t * bytes, std::uint64_t address);
        const auto find = reinterpret_cast<Find>(dlsym(driver, "cuMemGetAddressRange_v2"));
        std::uint64_t begin = 0;
        std::size_t bytes = 0;
        const bool found =
            find != nullptr &&
            find(&begin, &bytes,
                 static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address))) == 0;
        dlclose(driver);
        if (!found) return {};
        return {bytes, pointer(begin)};
    }
    /// What tools are told to be the heap: the allocation that has all blocks, or the memory that
    /// they take. @param zone bytes before the first block and behind the last one that are the
    /// heap's
    nvtxMemVirtualRangeDesc_t heap_range(std::size_t zone) const {
        // Blocks are in the order of their addresses.
        const auto* const begin = static_cast<const char*>(blocks_.front().ptr) - zone;
        const auto* const end =
            static_cast<const char*>(blocks_.back().ptr) + blocks_.back().size + zone;
        const nvtxMemVirtualRangeDesc_t whole = allocation_of(begin);
        const auto* const start = static_cast<const char*>(whole.ptr);
        if (start != nullptr && end <= start + whole.size) return whole;
        return {static_cast<std::size_t>(end - begin), begin};
    }
    void show(std::size_t zone) {
        const nvtxMemVirtualRangeDesc_t range = heap_range(zone);
        nvtxMemHeapDesc_t heap{};
        heap.extCompatID = NVTX_EXT_COMPATID_MEM;
        heap.structSize = sizeof heap;
        heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
        heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
        heap.typeSpecificDescSize = sizeof range;
        heap.typeSpecificDesc = &range;
        heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
        heap.message.ascii = name_.c_str();
        heap_ = nvtxMemHeapRegister(nullptr, &heap);
        nvtxMemRegionsRegisterBatch_t batch{};
        batch.extCompatID = NVTX_EXT_COMPATID_MEM;
        batch.structSize = sizeof batch;
        batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
        batch.heap = heap_;
        batch.regionCount = blocks_.size();
        batch.regionDescElementSize = sizeof(nvtxMemVirtualRangeDesc_t);
        batch.regionDescElements = blocks_.data();
        nvtxMemRegionsRegister(nullptr, &batch);
    }

    std::string name_;
    std::vector<nvtxMemVirtualRangeDesc_t> blocks_;
    nvtxMemHeapHandle_t heap_ = nullptr;
};

}  // namespace heapwood::allocators
