#include "allocators/memory/address_range.h"

#include <algorithm>
#include <string>

namespace heapwood::allocators {

AddressRange::AddressRange(Place place, std::uint64_t bytes, const BesideKernels* device)
    : MemorySource(place), bytes_(bytes), device_(device) {
    if (device_ != nullptr) {
        addresses_ = device_->reserve(bytes);
    } else {
        on_host_ = Buffer(place, bytes);
        addresses_ = on_host_.data();
    }
}

AddressRange::~AddressRange() {
    if (device_ != nullptr) device_->give_up(addresses_, bytes_, mapped_);
}

void AddressRange::map_to(std::uint64_t bytes) {
    bytes = std::min(bytes, bytes_);
    if (device_ != nullptr && bytes > mapped_) mapped_ = device_->map(addresses_, mapped_, bytes);
}

void* AddressRange::allocate(std::uint64_t bytes) {
    if (is_given_ || bytes > bytes_) {
        throw BufferError("a range of " + std::to_string(bytes_) +
                          " bytes is for one buffer, not for " + std::to_string(bytes) +
                          " bytes more");
    }
    is_given_ = true;
    return addresses_;
}

}  // namespace heapwood::allocators
