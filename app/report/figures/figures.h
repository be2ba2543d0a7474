/// @file
/// Figures as lists: each once, with its key, its title, its unit and the way to get it. Tables,
/// CSV, JSON, its schema and its reader are all made from such a list.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/report/figures/schema.h"

namespace heapwood::app {

/// How people read a figure.
enum class Unit {
    word,
    count,     ///< 66,454
    ms,        ///< 1.234
    bytes,     ///< 1.5 KiB
    size,      ///< bytes that are a mean: 441.8
    factor,    ///< 1.90x
    multiple,  ///< of the root node's array: 200x
    fraction,  ///< 12.5 %
    cost,      ///< 84.610
    rate,      ///< in a second, shown in millions: 12.34
};

/// One figure of an `Of`.
/// @tparam To what figures are read back into.
template <class Of, class To>
struct Figure {
    const char* key;    ///< its column in CSV; empty: in JSON only
    const char* name;   ///< its key in the JSON object of its group
    const char* title;  ///< what stands above its column in a table
    Unit unit;
    Json schema;
    std::function<Json(const Of&)> get;           ///< null where it is unknown
    std::function<void(To&, const Json&)> set{};  ///< nothing: is not read back
    bool required = true;                         ///< results of all versions have it

    /// The same, and what it is, if its name does not say it.
    Figure about(const char* text) const { return with({{"description", text}}); }
    /// The same, and more of its schema.
    Figure with(const Json& more) const {
        Figure figure = *this;
        figure.schema.update(more);
        return figure;
    }
    /// Results of earlier versions lack it.
    Figure newer() const {
        Figure figure = *this;
        figure.required = false;
        return figure;
    }
    /// Of something of which there is one at least.
    Figure never_zero() const { return with(at_least(1)); }
};

/// A figure that is not read back. @param get gives it, or null
template <class Of, class To = Of, class Get>
Figure<Of, To> figure(const char* key, const char* name, const char* title, Unit unit, Get get) {
    Json schema = schema_of<std::decay_t<std::invoke_result_t<Get, const Of&>>>();
    if (unit == Unit::fraction) schema["maximum"] = 1;
    return {key, name, title, unit, schema, [=](const Of& of) { return json_value(get(of)); }};
}

/// A figure that tables do not show; its column in CSV, if it has one, is called as in JSON.
template <class Of, class Get>
Figure<Of, Of> plain(const char* name, Get get, bool column = true) {
    return figure<Of>(column ? name : "", name, name, Unit::word, get);
}

/// The figures of one JSON object.
template <class Of, class To>
struct FigureGroup {
    const char* path;                      ///< of the object, a JSON pointer
    std::function<bool(const Of&)> known;  ///< false: null stands for the object; none: always true
    std::vector<Figure<Of, To>> figures;
    std::function<void(To&)> begin{};  ///< before figures are read back into it
    const char* about = "";            ///< what the object is, if its name does not say it

    bool is_known(const Of& of) const { return !known || known(of); }
};

template <class Of, class To = Of>
using FigureList = std::vector<FigureGroup<Of, To>>;

/// Whether the object around a group's is null, and the group nowhere.
inline bool has_no_place(const Json& json, const Json::json_pointer& path) {
    return !path.empty() && path.parent_pointer() != path &&
           json.at(path.parent_pointer()).is_null();
}

/// All figures as one object, in the order of the list.
template <class Of, class To>
Json json_of(const FigureList<Of, To>& list, const Of& of) {
    Json json = Json::object();
    for (const auto& group : list) {
        const Json::json_pointer path(group.path);
        if (has_no_place(json, path)) continue;
        if (!group.is_known(of)) {
            json[path] = nullptr;
            continue;
        }
        for (const auto& figure : group.figures) json[path / figure.name] = figure.get(of);
    }
    return json;
}

/// The schema of json_of's answer.
template <class Of, class To>
Json schema_of(const FigureList<Of, To>& list) {
    Json schema = object_schema();
    for (const auto& group : list) {
        Json& object = object_at(schema, group.path);
        if (group.known) object = nullable(object);
        if (*group.about != '\0') object["description"] = group.about;
        for (const auto& figure : group.figures) {
            object["properties"][figure.name] = figure.schema;
            if (figure.required) object["required"].push_back(figure.name);
        }
    }
    return schema;
}

/// Takes out of json_of's answer what is read back.
/// @throws Json::exception, std::invalid_argument if it is none.
template <class Of, class To>
void read(const FigureList<Of, To>& list, const Json& json, To& to) {
    for (const auto& group : list) {
        const Json::json_pointer path(group.path);
        bool wanted = false;
        for (const auto& figure : group.figures) wanted = wanted || figure.set;
        if (!wanted || has_no_place(json, path) || json.at(path).is_null()) continue;
        if (group.begin) group.begin(to);
        for (const auto& figure : group.figures) {
            if (!figure.set) continue;
            const Json& value = json.at(path).at(figure.name);
            if (const std::string wrong = misfit(value, figure.schema); !wrong.empty()) {
                throw std::invalid_argument(std::string("'") + figure.name + "' that is " + wrong);
            }
            figure.set(to, value);
        }
    }
}

/// Calls `visit(figure, value)` for every figure that has a column in CSV; null: unknown.
template <class Of, class To, class Visit>
void for_each_column(const FigureList<Of, To>& list, const Of& of, const Visit& visit) {
    for (const auto& group : list) {
        const bool known = group.is_known(of);
        for (const auto& figure : group.figures) {
            if (*figure.key != '\0') visit(figure, known ? figure.get(of) : Json());
        }
    }
}

/// The figure with that key. @throws std::logic_error if there is none.
template <class Of, class To>
const Figure<Of, To>& figure_of(const FigureList<Of, To>& list, const std::string& key) {
    for (const auto& group : list) {
        for (const auto& figure : group.figures) {
            if (figure.key == key) return figure;
        }
    }
    throw std::logic_error("no figure '" + key + "'");
}

/// Its value, or null.
template <class Of, class To>
Json value_of(const FigureList<Of, To>& list, const std::string& key, const Of& of) {
    for (const auto& group : list) {
        for (const auto& figure : group.figures) {
            if (figure.key == key) return group.is_known(of) ? figure.get(of) : Json();
        }
    }
    throw std::logic_error("no figure '" + key + "'");
}

}  // namespace heapwood::app
