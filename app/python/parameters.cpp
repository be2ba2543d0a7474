#include "app/python/parameters.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "app/base/text.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

using kdtree::BuildConfig;
using kdtree::EmptyRule;

/// A field of the configuration.
struct Field {
    const char* name;
    std::variant<float BuildConfig::*, std::uint32_t BuildConfig::*, std::uint64_t BuildConfig::*,
                 bool BuildConfig::*, EmptyRule BuildConfig::*>
        member;
};

const std::vector<Field> kFields{{"traversal_cost", &BuildConfig::traversal_cost},
                                 {"intersection_cost", &BuildConfig::intersection_cost},
                                 {"empty_bonus", &BuildConfig::empty_bonus},
                                 {"empty_rule", &BuildConfig::empty_rule},
                                 {"leaf_limit", &BuildConfig::leaf_limit},
                                 {"leaf_area", &BuildConfig::leaf_area},
                                 {"depth_base", &BuildConfig::depth_base},
                                 {"depth_factor", &BuildConfig::depth_factor},
                                 {"bad_split_ratio", &BuildConfig::bad_split_ratio},
                                 {"bad_splits", &BuildConfig::bad_splits},
                                 {"bad_splits_per_level", &BuildConfig::bad_splits_per_level},
                                 {"hopeless_ratio", &BuildConfig::hopeless_ratio},
                                 {"exact_limit", &BuildConfig::exact_limit},
                                 {"planes", &BuildConfig::planes},
                                 {"tight_cuts", &BuildConfig::tight_cuts},
                                 {"snap_limit", &BuildConfig::snap_limit},
                                 {"large_limit", &BuildConfig::large_limit},
                                 {"chunk", &BuildConfig::chunk},
                                 {"clip", &BuildConfig::clip},
                                 {"max_duplication", &BuildConfig::max_duplication},
                                 {"small_arrays", &BuildConfig::small_arrays},
                                 {"max_nodes", &BuildConfig::max_nodes},
                                 {"max_references", &BuildConfig::max_references}};

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
T converted(const Field& field, nb::handle value) {
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

const Field& field_named(const std::string& name) {
    std::vector<std::string> names;
    for (const Field& field : kFields) {
        if (field.name == name) return field;
        names.emplace_back(field.name);
    }
    throw nb::type_error(("build() got an unexpected keyword argument '" + name +
                          "'; parameters of the tree are " + app::joined(names, ", ") +
                          app::did_you_mean(name, names))
                             .c_str());
}

}  // namespace

BuildConfig read_parameters(const std::string& preset, const nb::dict& fields) {
    BuildConfig config = named(kdtree::presets(), "preset", preset);
    for (const auto& item : fields) {
        const auto name = nb::cast<std::string>(item.first);
        const Field& field = field_named(name);
        std::visit(
            [&](auto member) {
                config.*member = converted<std::remove_reference_t<decltype(config.*member)>>(
                    field, item.second);
            },
            field.member);
    }
    kdtree::validate(config);
    return config;
}

}  // namespace heapwood::python
