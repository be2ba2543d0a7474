/// @file
/// Options of allocators: an allocator that has several forms says so in a table of its own, and
/// the command line, JSON and `heapwood list` are made from these tables.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heapwood::allocators {

/// One option. Strings are literals. Allocators may share an option: then all of them name the same
/// object, it is offered once, and it means the same for each of them.
struct Option {
    const char* key;     ///< in JSON and in a Choice, for example "page_bytes"
    const char* flag;    ///< on the command line, for example "--page"
    const char* values;  ///< separated by '|'; the first one is the default
    const char* help;    ///< what the option decides, in one sentence without a full stop
};

/// The values of an option, in order.
inline std::vector<std::string> values_of(const Option& option) {
    std::vector<std::string> values(1);
    for (const char c : std::string_view(option.values)) {
        if (c == '|') {
            values.emplace_back();
        } else {
            values.back() += c;
        }
    }
    return values;
}

/// What a user has chosen: an option's key and one of its values.
struct Choice {
    std::string key;
    std::string value;

    bool operator==(const Choice&) const = default;
};

/// Choices, each key at most once. An allocator looks at the keys of its own options only.
using Choices = std::vector<Choice>;

/// The index of the value that `choices` has for the option; 0 if it has none.
/// @throws std::invalid_argument for a value that the option does not have
inline std::size_t chosen(const Choices& choices, const Option& option) {
    for (const Choice& choice : choices) {
        if (choice.key != option.key) continue;
        const std::vector<std::string> values = values_of(option);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (values[i] == choice.value) return i;
        }
        throw std::invalid_argument(choice.key + ": '" + choice.value + "' is none of " +
                                    option.values);
    }
    return 0;
}

/// The options of the allocator A, which has a static member options() if it has any.
template <class A>
constexpr std::span<const Option> options_of() {
    if constexpr (requires { A::options(); }) {
        return A::options();
    } else {
        return {};
    }
}

}  // namespace heapwood::allocators
