/// @file
/// What the figures of a build are made of; for the files that list them.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "app/base/json.h"
#include "app/measure/builds/build_figures.h"

namespace heapwood::app::detail {

using BuildFigure = Figure<BuildOf, Result>;
using BuildGroup = FigureGroup<BuildOf, Result>;
using kdtree::MemoryUse;
using kdtree::Quality;

inline bool ran(const BuildOf& b) {
    return !b.result.built.milliseconds.empty();
}

/// Whether the single kernel has been at work on a GPU.
inline bool ran_on_gpu(const BuildOf& b) {
    return ran(b) && b.report.provenance.machine.gpu && b.result.method == Method::single;
}

/// A figure or null; no fraction is negative but one that is unknown.
template <class T>
Json json_from(const T& value, Unit unit) {
    if constexpr (std::floating_point<T>) {
        if (unit == Unit::fraction && value < 0) return {};
    }
    return json_value(value);
}

/// Null leaves things as they are.
template <class T>
void read_into(T& value, const Json& json) {
    if (json.is_null()) return;
    if constexpr (schema_detail::IsOptional<T>::value) {
        read_into(value.emplace(), json);
    } else if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool>) {
        value = whole_number<T>(json);
    } else {
        json.get_to(value);
    }
}

/// What is stored in a result: the member of the part that `part` finds in one.
/// @param known nothing: always
template <class Part, class Member>
BuildFigure stored(Part part, Member member, const char* key, const char* name, const char* title,
                   Unit unit, bool (*known)(const BuildOf&) = nullptr) {
    using T = std::decay_t<decltype(part(std::declval<Result&>()).*member)>;
    Json schema = schema_of<T>();
    if (unit == Unit::fraction) schema["maximum"] = 1;
    if (known != nullptr || (unit == Unit::fraction && std::floating_point<T>)) {
        schema = nullable(schema);
    }
    return {key,
            name,
            title,
            unit,
            schema,
            [=](const BuildOf& b) {
                return known == nullptr || known(b) ? json_from(part(b.result).*member, unit)
                                                    : Json();
            },
            [=](Result& r, const Json& json) { read_into(part(r).*member, json); }};
}

/// A figure that follows from others or is known without JSON.
template <class Get>
BuildFigure derived(const char* key, const char* name, const char* title, Unit unit, Get get) {
    return figure<BuildOf, Result>(key, name, title, unit, get);
}

/// The same of one of these values.
template <class Values, class Get>
BuildFigure choice(const char* name, const Values& values, Get get) {
    BuildFigure one = derived(name, name, name, Unit::word, get);
    one.schema = one_of(values);
    return one;
}

inline constexpr auto kResult = [](auto& r) -> auto& {
    return r;
};
inline constexpr auto kBuilt = [](auto& r) -> auto& {
    return r.built;
};
inline constexpr auto kMemory = [](auto& r) -> auto& {
    return r.built.memory;
};
inline constexpr auto kTree = [](auto& r) -> auto& {
    return *r.tree;
};
inline constexpr auto kQuality = [](auto& r) -> auto& {
    return r.tree->quality;
};
inline constexpr auto kCounts = [](auto& r) -> auto& {
    return *r.built.allocations;
};
inline constexpr auto kPeak = [](auto& r) -> auto& {
    return *r.built.peak;
};

/// Where blocks lie in a pool.
BuildGroup heap_map_group();

}  // namespace heapwood::app::detail
