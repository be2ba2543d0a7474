#include "allocators/heap/guard_report.h"

#include <array>
#include <cstdio>
#include <map>
#include <string>

namespace heapwood::allocators {
namespace {

constexpr std::array<const char*, kHeapFaults> kSentences{
    "bytes before a block were written", "bytes behind a block were written",
    "a freed block was written", "a block was freed twice", "what was freed is no block"};

std::string hexadecimal(std::uint64_t address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

}  // namespace

std::string to_text(const HeapReport& report) {
    std::string text;
    for (const HeapFinding& fault : report.faults) {
        text += std::string(kSentences[static_cast<std::uint32_t>(fault.fault)]) + ": " +
                hexadecimal(fault.address);
        if (fault.bytes != 0) text += " of " + std::to_string(fault.bytes) + " bytes";
        text += ", tag " + std::to_string(fault.tag) + "\n";
    }
    std::uint64_t all = 0;
    for (const std::uint64_t count : report.counts) all += count;
    if (all > report.faults.size()) {
        text += "and " + std::to_string(all - report.faults.size()) + " faults more\n";
    }
    struct Sum {
        std::uint64_t blocks = 0;
        std::uint64_t bytes = 0;
    };
    std::map<std::uint32_t, Sum> by_tag;
    for (const HeapFinding& leak : report.leaks) {
        Sum& sum = by_tag[leak.tag];
        ++sum.blocks;
        sum.bytes += leak.bytes;
    }
    for (const auto& [tag, sum] : by_tag) {
        text += "in use: " + std::to_string(sum.blocks) + " blocks of " +
                std::to_string(sum.bytes) + " bytes, tag " + std::to_string(tag) + "\n";
    }
    if (report.unregistered != 0) {
        text += std::to_string(report.unregistered) +
                " requests were refused because the register of blocks was full\n";
    }
    return text;
}

}  // namespace heapwood::allocators
