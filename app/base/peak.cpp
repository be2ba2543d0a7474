#include "app/base/peak.h"

#include <sys/resource.h>

namespace heapwood::app {

std::uint64_t peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
}

}  // namespace heapwood::app
