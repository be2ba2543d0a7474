#include "app/base/machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "allocators/platform/device.h"
#include "allocators/platform/threads.h"
#include "app/base/exit_code.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// The value after "KEY :" in a file of such lines, or an empty string.
std::string field(const char* path, const std::string& key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(':');
        if (colon == line.npos || line.compare(0, key.size(), key) != 0) continue;
        const std::size_t start = line.find_first_not_of(" \t", colon + 1);
        return start == line.npos ? "" : line.substr(start);
    }
    return "";
}

/// What the system says it can still give, and no more than the control group's limit.
std::uint64_t available_memory() {
    std::uint64_t kib = 0;
    std::istringstream(field("/proc/meminfo", "MemAvailable")) >> kib;
    std::uint64_t bytes = kib * 1024;
    if (bytes == 0) {
        bytes = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
    }
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    // "max" (no limit) does not read as a number, which would set the variable to 0.
    if (std::uint64_t number = 0; std::ifstream("/sys/fs/cgroup/memory.max") >> number) {
        limit = number;
    }
    return std::min(bytes, limit);
}

}  // namespace

std::string Machine::text() const {
    if (!gpu) return "CPU: " + name + ", " + std::to_string(units) + " hardware threads";
    return "GPU: " + name + ", " + std::to_string(units) + " multiprocessors, driver " + driver +
           ", runtime " + runtime;
}

Machine cpu() {
    const std::string name = field("/proc/cpuinfo", "model name");
    return {.gpu = false,
            .name = name.empty() ? "unknown processor" : name,
            .units = platform::thread_count(0),
            .driver = "",
            .runtime = "",
            .memory = available_memory()};
}

Machine gpu() {
    // Asked once: another call of CUDA's may have another answer.
    const std::string absence = platform::device_absence();
    if (!absence.empty()) throw NoDevice("no GPU to build on: " + absence);
    const platform::DeviceInfo info = platform::device_info();
    return {.gpu = true,
            .name = info.name,
            .units = static_cast<unsigned>(info.multiprocessors),
            .driver = info.driver,
            .runtime = info.runtime,
            .memory = info.memory_bytes,
            .architecture = static_cast<unsigned>(info.architecture)};
}

}  // namespace heapwood::app
