#include "app/base/pool_size.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "app/base/exit_code.h"
#include "app/base/text.h"
#include "scenes/number.h"

namespace heapwood::app {
namespace {

/// Pools from here on cannot be addressed: 2^47 bytes of user space.
constexpr double kTooMany = 140737488355328.0;

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kUnits{
    {{"B", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}}};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw UsageError("'" + std::string(text) + "' is no pool size: " + why +
                     "; write a multiple of the root node's array (20x), or bytes (512MiB)");
}

}  // namespace

PoolSize PoolSize::parse(std::string_view text) {
    const std::size_t end = text.find_first_not_of("0123456789.");
    const std::string_view digits = text.substr(0, end);
    const std::string_view unit = end == text.npos ? "" : text.substr(end);
    if (!digits.empty() && unit.empty()) refuse(text, "it has no unit");
    const auto read = scenes::read_number<double>(digits, std::chars_format::fixed);
    if (!read) refuse(text, "it does not start with a positive number");
    const double number = *read;
    if (scenes::leading_zero(digits)) refuse(text, "its number starts with a zero");
    if (number == 0) refuse(text, "a pool of nothing serves nobody");

    PoolSize size;
    if (unit == "x") {
        size.multiple = number;
        return size;
    }
    for (const auto& [name, factor] : kUnits) {
        if (unit != name) continue;
        const double bytes = number * static_cast<double>(factor);
        if (bytes >= kTooMany) refuse(text, "no machine has that much");
        if (bytes != std::floor(bytes)) refuse(text, "it is not a whole number of bytes");
        size.bytes = static_cast<std::uint64_t>(bytes);
        return size;
    }
    refuse(text, "'" + std::string(unit) + "' is none of x, B, KiB, MiB, GiB");
}

std::uint64_t PoolSize::bytes_for(std::uint64_t root_bytes) const {
    if (bytes > 0) return bytes;
    const double wanted = std::ceil(multiple * static_cast<double>(root_bytes));
    if (wanted >= kTooMany) {
        throw UsageError("--pool " + text() + ": no machine has that much; the root array has " +
                         bytes_text(root_bytes));
    }
    return static_cast<std::uint64_t>(wanted);
}

PoolSize PoolSize::doubled() const {
    return {.multiple = 2 * multiple, .bytes = 2 * bytes};
}

std::string PoolSize::text() const {
    if (bytes == 0) return digits(multiple) + "x";
    for (std::size_t i = kUnits.size(); i-- > 1;) {
        const auto& [name, factor] = kUnits[i];
        if (bytes % factor == 0) return std::to_string(bytes / factor) + std::string(name);
    }
    return std::to_string(bytes) + "B";
}

std::uint64_t default_pool_bytes(std::uint64_t root_bytes, std::uint64_t memory,
                                 std::uint64_t smallest) {
    return std::max(std::min(PoolSize().bytes_for(root_bytes), memory / 3), smallest);
}

std::string below_smallest_pool(std::uint64_t bytes, const allocators::Traits& allocator) {
    if (bytes >= allocator.smallest_pool) return "";
    return "a pool of " + bytes_text(bytes) + " is below the " +
           bytes_text(allocator.smallest_pool) + " that this allocator needs";
}

}  // namespace heapwood::app
