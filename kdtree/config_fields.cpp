#include "kdtree/config_fields.h"

#include <array>
#include <charconv>
#include <stdexcept>
#include <type_traits>

namespace heapwood::kdtree {
namespace {

/// The shortest decimal text that names the number.
std::string text(double value) {
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return {digits.data(), end};
}

}  // namespace

bool Field::allows(double value) const {
    if (or_zero && value == 0) return true;
    return (open ? value > least : value >= least) && value <= most;
}

std::string Field::range() const {
    if (least < 0) return "finite";
    std::string words = or_zero ? "0, or " : "";
    words += (open ? "above " : "at least ") + text(least);
    return words + (most < Field().most ? " and at most " + text(most) : ", and finite");
}

void validate(const BuildConfig& config) {
    for_each_field(config, []<class T>(const Field& field, const T& value) {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            if (field.allows(static_cast<double>(value))) return;
            throw std::invalid_argument(std::string(field.name) + " must be " + field.range() +
                                        ", not " + text(static_cast<double>(value)));
        }
    });
    if (config.large_limit != 0 && config.large_limit < config.exact_limit) {
        throw std::invalid_argument("large_limit must be 0, or not below exact_limit (" +
                                    std::to_string(config.exact_limit) + "), not " +
                                    std::to_string(config.large_limit));
    }
}

}  // namespace heapwood::kdtree
