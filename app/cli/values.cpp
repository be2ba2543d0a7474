#include "app/cli/values.h"

#include <charconv>
#include <cmath>

namespace heapwood::app {

CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
    const auto check = [least, most](const std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        // A leading zero would be read as octal afterwards.
        const bool plain = error == std::errc() && stop == end && (text == "0" || text[0] != '0');
        if (plain && value >= least && value <= most) return "";
        return "'" + text + "' is not a whole number from " + std::to_string(least) + " to " +
               std::to_string(most);
    };
    return {check, "", "whole"};
}

CLI::Validator real(float least, float most, bool open) {
    const auto check = [=](const std::string& text) -> std::string {
        float value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        const bool plain = error == std::errc() && stop == end && std::isfinite(value);
        if (plain && (open ? value > least : value >= least) && value <= most) return "";
        return "'" + text + "' is not a number " + (open ? "above " : "from ") + shortest(least) +
               (most < std::numeric_limits<float>::max() ? " up to " + shortest(most) : "");
    };
    return {check, "", "real"};
}

}  // namespace heapwood::app
