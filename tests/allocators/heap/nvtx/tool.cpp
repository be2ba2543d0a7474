/// @file
/// A tool that NVTX loads, as compute-sanitizer is one: it remembers which memory it was told of.
#include "tests/allocators/heap/nvtx/tool.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtMem.h>

#define NVTX_EXT_TYPES_GUARD
#include <nvtx3/nvtxDetail/nvtxExtTypes.h>
#undef NVTX_EXT_TYPES_GUARD

namespace {

heapwood::tests::ToldByNvtx told;

std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

nvtxMemHeapHandle_t register_heap(nvtxDomainHandle_t, const nvtxMemHeapDesc_t* heap) {
    ++told.calls;
    if (heap->extCompatID != NVTX_EXT_COMPATID_MEM || heap->structSize != sizeof *heap ||
        heap->usage != NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR ||
        heap->type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS) {
        return nullptr;
    }
    const auto& range = *static_cast<const nvtxMemVirtualRangeDesc_t*>(heap->typeSpecificDesc);
    told.name = heap->message.ascii;
    told.begin = address(range.ptr);
    told.end = told.begin + range.size;
    return reinterpret_cast<nvtxMemHeapHandle_t>(&told);
}

void unregister_heap(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
    ++told.calls;
    if (heap == reinterpret_cast<nvtxMemHeapHandle_t>(&told)) told.begin = told.end = 0;
}

void register_regions(nvtxDomainHandle_t, const nvtxMemRegionsRegisterBatch_t* batch) {
    ++told.calls;
    if (batch->heap != reinterpret_cast<nvtxMemHeapHandle_t>(&told)) return;
    const auto* const ranges =
        static_cast<const nvtxMemVirtualRangeDesc_t*>(batch->regionDescElements);
    for (std::size_t i = 0; i < batch->regionCount; ++i) {
        told.blocks[address(ranges[i].ptr)] = ranges[i].size;
    }
}

void unregister_regions(nvtxDomainHandle_t, const nvtxMemRegionsUnregisterBatch_t* batch) {
    ++told.calls;
    if (batch->refType != NVTX_MEM_REGION_REF_TYPE_POINTER) return;
    for (std::size_t i = 0; i < batch->refCount; ++i) {
        told.blocks.erase(address(batch->refElements[i].pointer));
    }
}

template <class Function>
void put(const nvtxExtModuleInfo_t& module, std::size_t slot, Function* function) {
    module.segments[0].functionSlots[slot] = reinterpret_cast<std::intptr_t>(function);
}

}  // namespace

extern "C" {

/// NVTX calls it at the first call of an extension.
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* module) {
    if (module->moduleId != NVTX_EXT_MODULEID_MEM) return 0;
    put(*module, NVTX3EXT_CBID_nvtxMemHeapRegister, register_heap);
    put(*module, NVTX3EXT_CBID_nvtxMemHeapUnregister, unregister_heap);
    put(*module, NVTX3EXT_CBID_nvtxMemRegionsRegister, register_regions);
    put(*module, NVTX3EXT_CBID_nvtxMemRegionsUnregister, unregister_regions);
    return 1;
}

__attribute__((visibility("default"))) const heapwood::tests::ToldByNvtx* told_by_nvtx() {
    return &told;
}
}
