/// @file
/// Figures as lists: each once, with its key, its title, its unit and the way to get it. Tables,
/// CSV, JSON and the reader of JSON are all made from such a list.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace heapwood::app {

using Json = nlohmann::ordered_json;

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
    std::function<Json(const Of&)> get;           ///< null where it is unknown
    std::function<void(To&, const Json&)> set{};  ///< nothing: is not read back
    double least = 0;  ///< of what is read back; above 0 it is never unknown
};

/// The figures of one JSON object.
template <class Of, class To>
struct FigureGroup {
    const char* path;                      ///< of the object, a JSON pointer
    std::function<bool(const Of&)> known;  ///< false: null stands for the object
    std::vector<Figure<Of, To>> figures;
    std::function<void(To&)> begin{};  ///< before figures are read back into it
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
        if (!group.known(of)) {
            json[path] = nullptr;
            continue;
        }
        for (const auto& figure : group.figures) json[path / figure.name] = figure.get(of);
    }
    return json;
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
            if (figure.unit == Unit::fraction && value.is_number() && !(value >= 0 && value <= 1)) {
                throw std::invalid_argument(std::string("a fraction '") + figure.name +
                                            "' that is not from 0 to 1");
            }
            if (figure.least > 0 && !(value.is_number() && value >= figure.least)) {
                throw std::invalid_argument(std::string("a number '") + figure.name +
                                            "' that is below its least");
            }
            figure.set(to, value);
        }
    }
}

/// Calls `visit(figure, value)` for every figure that has a column in CSV; null: unknown.
template <class Of, class To, class Visit>
void for_each_column(const FigureList<Of, To>& list, const Of& of, const Visit& visit) {
    for (const auto& group : list) {
        const bool known = group.known(of);
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
            if (figure.key == key) return group.known(of) ? figure.get(of) : Json();
        }
    }
    throw std::logic_error("no figure '" + key + "'");
}

/// Smallest, middle and largest of samples and themselves, as every document has them.
Json spread_json(const std::vector<double>& samples);

}  // namespace heapwood::app
