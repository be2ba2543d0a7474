#include "app/python/parameters.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <vector>

#include "app/base/text.h"
#include "app/python/objects.h"
#include "kdtree/config_fields.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

using kdtree::BuildConfig;
using kdtree::EmptyRule;

/// The entry of a map by its name. @throws std::invalid_argument that names what there is.
template <class T>
const T& named(const std::map<std::string, T>& all, const std::string& what,
               const std::string& name) {
    const auto found = all.find(name);
    if (found != all.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& entry : all) names.push_back(entry.first);
    throw std::invalid_argument(what + " '" + name + "' is none of " + app::joined(names, ", ") +
                                app::did_you_mean(name, names));
}

template <class T>
T converted(const kdtree::Field& field, nb::handle value) {
    std::string kind = "a number";
    if constexpr (std::is_same_v<T, EmptyRule>) {
        kind = "a string";
        if (std::string word; nb::try_cast(value, word)) {
            return named(kdtree::empty_rules(), field.name, word);
        }
    } else {
        if (std::is_same_v<T, bool>) {
            kind = "True or False";
        } else if (std::is_integral_v<T>) {
            kind = "a whole number from 0 to " + std::to_string(std::numeric_limits<T>::max());
        }
        if (T result{}; nb::try_cast(value, result)) return result;
    }
    throw std::invalid_argument(std::string(field.name) + ": " + nb::repr(value).c_str() +
                                " is not " + kind);
}

[[noreturn]] void refuse_field(const std::string& name) {
    std::vector<std::string> names;
    const BuildConfig config;
    kdtree::for_each_field(
        config, [&](const kdtree::Field& field, const auto&) { names.emplace_back(field.name); });
    throw nb::type_error(("build() got an unexpected keyword argument '" + name +
                          "'; parameters of the tree are " + app::joined(names, ", ") +
                          app::did_you_mean(name, names))
                             .c_str());
}

/// A field's type as Python writes it.
template <class T>
std::string annotation() {
    if constexpr (std::is_same_v<T, EmptyRule>) {
        std::vector<std::string> words;
        for (const auto& rule : kdtree::empty_rules()) words.push_back('"' + rule.first + '"');
        return "Literal[" + app::joined(words, ", ") + "]";
    } else if constexpr (std::is_same_v<T, bool>) {
        return "bool";
    } else {
        return std::is_integral_v<T> ? "int" : "float";
    }
}

/// The name, the type and the sentence of every field.
std::vector<std::tuple<std::string, std::string, std::string>> tree_parameters() {
    std::vector<std::tuple<std::string, std::string, std::string>> all;
    const BuildConfig config;
    kdtree::for_each_field(config, [&]<class T>(const kdtree::Field& field, const T&) {
        all.emplace_back(field.name, annotation<T>(), field.sentence);
    });
    return all;
}

}  // namespace

void add_parameters(nb::module_& m) {
    m.def("tree_parameters", &tree_parameters);
}

BuildConfig read_parameters(const std::string& preset, const nb::dict& fields) {
    BuildConfig config = named(kdtree::presets(), "preset", preset);
    for (const auto& item : fields) {
        const auto name = nb::cast<std::string>(item.first);
        bool known = false;
        kdtree::for_each_field(config, [&]<class T>(const kdtree::Field& field, T& value) {
            if (name != field.name) return;
            value = converted<T>(field, item.second);
            known = true;
        });
        if (!known) refuse_field(name);
    }
    kdtree::validate(config);
    return config;
}

}  // namespace heapwood::python
