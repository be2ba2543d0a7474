#include "app/cli/values.h"

#include <charconv>
#include <cmath>

namespace heapwood::app {

std::vector<std::string> items(const std::string& option, const std::vector<std::string>& lists) {
    std::vector<std::string> all;
    for (const std::string& list : lists) {
        for (std::size_t begin = 0; begin <= list.size();) {
            const std::size_t end = std::min(list.find(',', begin), list.size());
            if (end == begin) {
                throw CLI::ValidationError(option, "'" + list +
                                                       "' has an empty item; write items "
                                                       "with one comma between two");
            }
            all.push_back(list.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    return all;
}

CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
    const auto check = [least, most](const std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        // A leading zero would be read as octal afterwards.
        const bool plain = error == std::errc() && stop == end && !leading_zero(text);
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
        const bool plain =
            error == std::errc() && stop == end && std::isfinite(value) && !leading_zero(text);
        if (plain && (open ? value > least : value >= least) && value <= most) return "";
        return "'" + text + "' is not a number " + (open ? "above " : "from ") + shortest(least) +
               (most < std::numeric_limits<float>::max() ? " up to " + shortest(most) : "");
    };
    return {check, "", "real"};
}

}  // namespace heapwood::app
