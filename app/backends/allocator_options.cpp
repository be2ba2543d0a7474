#include "app/backends/allocator_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "app/base/log.h"
#include "app/base/text.h"
#include "scenes/number.h"

namespace heapwood::app {
namespace {

using allocators::Choice;
using allocators::Choices;
using allocators::Option;

/// The names of the allocators that have an option of that flag.
std::vector<std::string> owners_of(const std::string& flag) {
    std::vector<std::string> names;
    for (const Backend* backend : backends()) {
        const std::string name = backend->traits.name;
        for (const Option& option : backend->options) {
            if (option.flag == flag && std::find(names.begin(), names.end(), name) == names.end()) {
                names.push_back(name);
            }
        }
    }
    return names;
}

}  // namespace

std::vector<Option> offered_options() {
    std::vector<Option> all;
    for (const Backend* backend : backends()) {
        for (const Option& option : backend->options) {
            const std::string key = option.key;
            if (std::none_of(all.begin(), all.end(),
                             [&key](const Option& other) { return other.key == key; })) {
                all.push_back(option);
            }
        }
    }
    return all;
}

Choices default_choices() {
    Choices choices;
    for (const Option& option : offered_options()) {
        choices.push_back({option.key, values_of(option).front()});
    }
    return choices;
}

void choose(Choices& choices, const std::string& key, const std::string& value) {
    for (Choice& choice : choices) {
        if (choice.key == key) {
            choice.value = value;
            return;
        }
    }
    choices.push_back({key, value});
}

nlohmann::ordered_json choices_json(const Choices& choices) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const auto& [key, value] : choices) {
        if (const auto number = scenes::read_number<std::uint64_t>(value)) {
            json[key] = *number;
        } else {
            json[key] = value;
        }
    }
    return json;
}

nlohmann::ordered_json forms_schema() {
    nlohmann::ordered_json schema{{"type", "object"}};
    schema["additionalProperties"] = {{"type", {"string", "integer"}}};
    for (const Option& option : offered_options()) {
        auto values = nlohmann::ordered_json::array();
        for (const std::string& value : values_of(option)) {
            values.push_back(choices_json({{option.key, value}}).front());
        }
        schema["properties"][option.key] = {{"enum", values}, {"description", option.help}};
    }
    return schema;
}

void warn_of_idle_options(const std::vector<const Backend*>& chosen,
                          const std::vector<std::string>& givers) {
    for (const std::string& giver : givers) {
        const std::vector<std::string> owners = owners_of(giver.substr(0, giver.find(' ')));
        const bool used = std::any_of(chosen.begin(), chosen.end(), [&](const Backend* backend) {
            return std::find(owners.begin(), owners.end(), backend->traits.name) != owners.end();
        });
        if (owners.empty() || used) continue;
        log::warning(giver + " has no effect: it is for " + joined(owners, ", "));
    }
}

}  // namespace heapwood::app
