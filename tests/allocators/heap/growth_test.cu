/// @file
/// What a GPU's memory does beside a kernel that fills the GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "allocators/cambium.cuh"
#include "allocators/heap/extending.cuh"
#include "allocators/memory/beside_kernels.h"
#include "allocators/memory/source.h"
#include "allocators/ouroboros.cuh"
#include "allocators/platform/cuda_runtime.h"
#include "allocators/platform/system_atomic.cuh"
#include "tests/allocators/heap/gpu_growth_checks.cuh"

namespace heapwood::tests {
namespace {

// With tables beside the pool, and with queues in it.
TEST(GpuGrowth, UnderAFullGpuWithCambium) {
    check_gpu_growth_under_a_full_gpu<allocators::Cambium>();
}
TEST(GpuGrowth, UnderAFullGpuWithOuroboros) {
    check_gpu_growth_under_a_full_gpu<allocators::OuroborosPVA>();
}

// At its end.
using Extensible = allocators::Cambium::Extensible;
TEST(GpuGrowth, OfAPoolThatExtends) {
    check_gpu_growth_in_one_launch<Extensible, allocators::Extending<Extensible>>();
}
TEST(GpuGrowth, OfAPoolThatExtendsUnderAFullGpu) {
    check_gpu_growth_under_a_full_gpu<Extensible, allocators::Extending<Extensible>>();
}

/// Waits until the host writes how many words there are, and adds them up. Word 0 of the mailbox is
/// the host's, word 1 is this kernel's: it says that it runs. It ends by itself after `patience`.
__global__ void add_words_of_the_host(std::uint64_t* mailbox, const std::uint32_t* words,
                                      std::uint64_t patience, std::uint64_t* sum) {
    const platform::SystemAtomicRef from_host(mailbox[0]);
    platform::SystemAtomicRef(mailbox[1]).store_relaxed(1);
    const std::uint64_t end = platform::nanoseconds() + patience;
    std::uint64_t count = 0;
    while ((count = from_host.load_acquire()) == 0 && platform::nanoseconds() < end) {
        platform::back_off(5);
    }
    if (threadIdx.x != 0 || blockIdx.x != 0) return;
    std::uint64_t added = 0;
    for (std::uint64_t i = 0; i < count; ++i) added += words[i];
    *sum = added;
}

TEST(GpuGrowth, BuffersAreWrittenBesideAFullGpu) {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    std::string why;
    if (!can_grow_beside_kernels(why)) GTEST_SKIP() << why;
    const allocators::BesideKernels device;
    auto* const mailbox = static_cast<std::uint64_t*>(device.pinned());
    std::memset(mailbox, 0, 16);
    constexpr std::uint64_t kWords = (5 << 20) + 3;
    constexpr unsigned kThreads = 1024;
    ManagedArray<std::uint64_t> sum(1);
    allocators::Buffer table;
    allocators::Buffer more;
    {
        const allocators::SourceScope scope(device.memory());
        table = allocators::Buffer(allocators::Place::device, kWords * sizeof(std::uint32_t));
    }
    platform::launch_resident("waiting", add_words_of_the_host,
                              platform::resident_blocks(add_words_of_the_host, kThreads), kThreads,
                              nullptr, mailbox, table.as<const std::uint32_t>(),
                              std::uint64_t{5'000'000'000}, sum.data());
    const platform::SystemAtomicRef kernel_runs(mailbox[1]);
    while (kernel_runs.load_relaxed() == 0 && cudaStreamQuery(nullptr) == cudaErrorNotReady) {
    }
    std::vector<std::uint32_t> read(kWords);
    {
        const allocators::BesideKernels::Scope scope(device);
        EXPECT_EQ(allocators::SourceScope::source(allocators::Place::device), &device.memory());
        more = allocators::Buffer(allocators::Place::device, 3 << 20);
        more.zero();
        table.fill(0, 1, table.size());
        std::vector<std::uint32_t> some(1000, 7);
        table.write(4000, some.data(), 4000);
        const allocators::Word words[] = {{0, 5}, {kWords - 1, 6}};
        table.write_words(words, 2);
        table.read(0, read.data(), table.size());
    }
    EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady) << "the kernel did not wait";
    platform::SystemAtomicRef(mailbox[0]).store_release(kWords);
    require_cuda(cudaDeviceSynchronize());
    constexpr std::uint64_t kOnes = 0x01010101;
    EXPECT_EQ(sum[0], kOnes * (kWords - 1002) + 7 * 1000 + 5 + 6);
    std::uint64_t read_sum = 0;
    for (const std::uint32_t word : read) read_sum += word;
    EXPECT_EQ(read_sum, sum[0]);
}

}  // namespace
}  // namespace heapwood::tests
