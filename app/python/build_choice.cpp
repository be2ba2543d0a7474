/// @file
/// What Python's calls choose a build by.
#include "app/python/build_choice.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "app/base/text.h"
#include "app/python/objects.h"
#include "app/verbs/choices.h"

namespace nb = nanobind;

namespace heapwood::python {

using allocators::Choices;
using allocators::Option;
using app::Backend;
using app::Outcome;
using app::PoolSize;

const Backend& backend_named(const std::string& method, const std::string& allocator, bool gpu,
                             bool grows) {
    app::BuildParameters parameters;
    parameters.allocators = {allocator};
    if (method == "levels") return app::level_backend(gpu);
    if (method != "single") {
        throw std::invalid_argument("method '" + method + "' is neither single nor levels");
    }
    if (allocator == "all") throw std::invalid_argument("one tree needs one allocator, not all");
    const auto chosen = app::choose_backends(app::backends(), parameters, gpu);
    return *(grows ? app::growing(chosen) : chosen).front();
}

AskedPool::AskedPool(const std::optional<std::string>& text,
                     const std::optional<std::string>& grow) {
    if (text) size = PoolSize::parse(*text);
    growth.grows = grow.has_value();
    if (grow && !grow->empty()) growth.most = PoolSize::parse(*grow);
}

Choices read_options(const nb::dict& options, const Backend& backend) {
    Choices choices;
    for (const auto& [key, value] : options) {
        choices.push_back({nb::cast<std::string>(key), nb::str(value).c_str()});
    }
    std::vector<std::string> keys;
    for (const Option& option : backend.options) {
        allocators::chosen(choices, option);
        keys.emplace_back(option.key);
    }
    for (const auto& choice : choices) {
        if (std::find(keys.begin(), keys.end(), choice.key) != keys.end()) continue;
        throw std::invalid_argument(std::string(backend.traits.name) + " has no option '" +
                                    choice.key + "'; it has " +
                                    (keys.empty() ? "none" : app::joined(keys, ", ")) +
                                    app::did_you_mean(choice.key, keys));
    }
    return choices;
}

void require_done(const app::Failure& ending, const allocators::Traits& allocator,
                  std::uint64_t pool_bytes, const std::optional<PoolSize>& chosen) {
    const std::string message = std::string(allocator.name) + ": " + ending.message;
    switch (ending.outcome) {
        case Outcome::done:
            return;
        case Outcome::pool_exhausted:
        case Outcome::overwritten: {
            PoolSize larger = chosen.value_or(PoolSize{.bytes = pool_bytes}).doubled();
            if (pool_bytes < allocator.smallest_pool) larger = {.bytes = allocator.smallest_pool};
            throw OutOfPool(message + "; pass a larger pool, as pool=\"" + larger.text() + "\"");
        }
        case Outcome::verification_failed:
            throw VerificationError(message);
        case Outcome::nodes_exhausted:
        case Outcome::references_exhausted:
        case Outcome::out_of_memory:
            throw allocators::BufferError(message);
        default:
            throw std::runtime_error(message);
    }
}

}  // namespace heapwood::python
