/// @file
/// The program with a CUDA runtime of which one call fails, for cuda_faults_test.py. The linker
/// puts __wrap_NAME in the place of every call of NAME (CMakeLists.txt has the names).
///
/// HEAPWOOD_FAULT_CALL=N: call number N of a process, from 1 on, is done and answered with
/// cudaErrorUnknown; a launch is not done. HEAPWOOD_FAULT_REPORT=FOLDER: every process keeps a file
/// there, whose line is true after each call, for some processes are killed when they are done:
/// "calls failed live end", the number of its calls, the name of the one that failed or "-", how
/// much of CUDA's memory and how many of its events it has not given back, and whether it came to
/// its own end.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "app/verbs/commands.h"

namespace {

/// What a process says of its calls.
class Report {
public:
    /// Counts a call. @return whether it is the one that fails
    bool count(const char* name) {
        const std::lock_guard guard(mutex_);
        const bool fails = ++calls_ == wanted_;
        if (fails) failed_ = name;
        write("running");
        return fails;
    }
    /// Counts what has been made, or ended if that is -1.
    void add(int made) {
        const std::lock_guard guard(mutex_);
        live_ += made;
        write("running");
    }
    /// To be called after all destructors of static objects.
    void end() {
        const std::lock_guard guard(mutex_);
        write("ended");
    }

private:
    static long number(const char* text) { return text == nullptr ? 0 : std::atol(text); }
    static int open_file() {
        const char* folder = std::getenv("HEAPWOOD_FAULT_REPORT");
        if (folder == nullptr) return -1;
        const std::string path = std::string(folder) + "/" + std::to_string(getpid());
        return open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    }
    /// One line of one length, in the place of the one before.
    void write(const char* end) {
        if (file_ < 0) return;
        std::string line =
            std::to_string(calls_) + " " + failed_ + " " + std::to_string(live_) + " " + end;
        line.resize(120, ' ');
        static_cast<void>(!pwrite(file_, line.data(), line.size(), 0));
    }

    std::mutex mutex_;
    long wanted_ = number(std::getenv("HEAPWOOD_FAULT_CALL"));
    int file_ = open_file();
    long calls_ = 0;
    long live_ = 0;
    const char* failed_ = "-";
};

/// Never destroyed.
Report& report() {
    static auto* const one = new Report;
    return *one;
}

/// What cudaGetLastError is to say.
std::atomic<cudaError_t> last{cudaSuccess};

/// Counts a call. @return whether it is the one that fails
bool fails(const char* name) {
    if (!report().count(name)) return false;
    last = cudaErrorUnknown;
    return true;
}

cudaError_t answer(const char* name, cudaError_t status) {
    return fails(name) ? cudaErrorUnknown : status;
}

/// After all destructors of static objects.
[[gnu::destructor]] void end_report() {
    report().end();
}

}  // namespace

extern "C" {

#define HEAPWOOD_WRAP(name, parameters, arguments)     \
    cudaError_t __real_##name parameters;              \
    cudaError_t __wrap_##name parameters;              \
    cudaError_t __wrap_##name parameters {             \
        return answer(#name, __real_##name arguments); \
    }
/// Of a call that makes something: nothing is made if it fails.
#define HEAPWOOD_WRAP_MAKING(name, parameters, arguments)   \
    cudaError_t __real_##name parameters;                   \
    cudaError_t __wrap_##name parameters;                   \
    cudaError_t __wrap_##name parameters {                  \
        if (fails(#name)) return cudaErrorUnknown;          \
        const cudaError_t status = __real_##name arguments; \
        if (status == cudaSuccess) report().add(1);         \
        return status;                                      \
    }
/// Of a call that ends something, which is gone though the call fails: CUDA's tell of earlier
/// kernels' ends.
#define HEAPWOOD_WRAP_ENDING(name, parameters, arguments)                 \
    cudaError_t __real_##name parameters;                                 \
    cudaError_t __wrap_##name parameters;                                 \
    cudaError_t __wrap_##name parameters {                                \
        const cudaError_t status = __real_##name arguments;               \
        if (status == cudaSuccess && object != nullptr) report().add(-1); \
        return answer(#name, status);                                     \
    }

HEAPWOOD_WRAP_MAKING(cudaMalloc, (void** p, size_t bytes), (p, bytes))
HEAPWOOD_WRAP_MAKING(cudaMallocFromPoolAsync,
                     (void** p, size_t bytes, cudaMemPool_t pool, cudaStream_t s),
                     (p, bytes, pool, s))
HEAPWOOD_WRAP_MAKING(cudaEventCreate, (cudaEvent_t * event), (event))
HEAPWOOD_WRAP_ENDING(cudaFree, (void* object), (object))
HEAPWOOD_WRAP_ENDING(cudaFreeAsync, (void* object, cudaStream_t s), (object, s))
HEAPWOOD_WRAP_ENDING(cudaEventDestroy, (cudaEvent_t object), (object))

HEAPWOOD_WRAP(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr a, int d), (value, a, d))
HEAPWOOD_WRAP(cudaDeviceGetLimit, (size_t * value, cudaLimit limit), (value, limit))
HEAPWOOD_WRAP(cudaDeviceSetLimit, (cudaLimit limit, size_t value), (limit, value))
HEAPWOOD_WRAP(cudaDeviceSynchronize, (), ())
HEAPWOOD_WRAP(cudaDriverGetVersion, (int* version), (version))
HEAPWOOD_WRAP(cudaEventElapsedTime, (float* ms, cudaEvent_t a, cudaEvent_t b), (ms, a, b))
HEAPWOOD_WRAP(cudaEventRecord, (cudaEvent_t event, cudaStream_t s), (event, s))
HEAPWOOD_WRAP(cudaEventSynchronize, (cudaEvent_t event), (event))
HEAPWOOD_WRAP(cudaFuncGetAttributes, (cudaFuncAttributes * a, const void* f), (a, f))
HEAPWOOD_WRAP(cudaGetDevice, (int* device), (device))
HEAPWOOD_WRAP(cudaGetDeviceCount, (int* count), (count))
HEAPWOOD_WRAP(cudaGetDeviceProperties, (cudaDeviceProp * p, int d), (p, d))
// A pool stays until the process ends, so it is not among what must be given back.
HEAPWOOD_WRAP(cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps* p), (pool, p))
HEAPWOOD_WRAP(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr a, void* value),
              (pool, a, value))
HEAPWOOD_WRAP(cudaMemGetInfo, (size_t * free, size_t* total), (free, total))
HEAPWOOD_WRAP(cudaMemcpy, (void* to, const void* from, size_t n, cudaMemcpyKind kind),
              (to, from, n, kind))
HEAPWOOD_WRAP(cudaMemcpyAsync,
              (void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t s),
              (to, from, n, kind, s))
HEAPWOOD_WRAP(cudaMemsetAsync, (void* to, int value, size_t n, cudaStream_t s), (to, value, n, s))
HEAPWOOD_WRAP(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
              (int* n, const void* f, int threads, size_t shared, unsigned flags),
              (n, f, threads, shared, flags))
HEAPWOOD_WRAP(cudaRuntimeGetVersion, (int* version), (version))
HEAPWOOD_WRAP(cudaSetDevice, (int device), (device))
HEAPWOOD_WRAP(cudaStreamIsCapturing, (cudaStream_t s, cudaStreamCaptureStatus* status), (s, status))
HEAPWOOD_WRAP(cudaStreamSynchronize, (cudaStream_t s), (s))

/// What <<<>>> calls, whose answer nobody looks at: cudaGetLastError has it.
cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      size_t shared, cudaStream_t s) {
    if (fails("__cudaLaunchKernel")) return cudaErrorUnknown;
    return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, s);
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments) {
    if (fails("cudaLaunchKernelExC")) return cudaErrorUnknown;
    return __real_cudaLaunchKernelExC(config, kernel, arguments);
}

cudaError_t __real_cudaGetLastError();
cudaError_t __wrap_cudaGetLastError();
cudaError_t __wrap_cudaGetLastError() {
    const cudaError_t real = __real_cudaGetLastError();
    const cudaError_t pending = last.exchange(cudaSuccess);
    return pending != cudaSuccess ? pending : real;
}
cudaError_t __real_cudaPeekAtLastError();
cudaError_t __wrap_cudaPeekAtLastError();
cudaError_t __wrap_cudaPeekAtLastError() {
    const cudaError_t pending = last;
    return pending != cudaSuccess ? pending : __real_cudaPeekAtLastError();
}

}  // extern "C"

int main(int argc, char** argv) {
    return static_cast<int>(heapwood::app::run(argc, argv));
}
