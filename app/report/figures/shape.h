/// @file
/// What JSON objects have in them: each field once, with its name, its value and what a reader may
/// rely on. The object and its schema are made from the same list.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/report/figures/figures.h"
#include "app/report/figures/schema.h"

namespace heapwood::app {

/// The shape of the JSON object of an `Of`. Fields come in the order in which they were added.
template <class Of>
class Shape {
public:
    /// A field of the type that `get` returns; `optional` is null for nothing.
    /// @param about what it is, if its name does not say it
    /// @param more of its schema
    template <class Get>
    Shape& field(const char* name, Get get, const char* about = "", const Json& more = {}) {
        Json schema = schema_of<std::decay_t<std::invoke_result_t<Get, const Of&>>>();
        if (!more.is_null()) schema.update(more);
        return put(
            name, std::move(schema), [get](const Of& of) { return json_value(get(of)); }, about);
    }

    /// One of some values, of which `get` gives one, or nothing.
    template <class Get>
    Shape& choice(const char* name, const Json& values, Get get, const char* about = "") {
        return put(
            name, one_of(values), [get](const Of& of) { return json_value(get(of)); }, about);
    }

    /// The same for every document.
    Shape& constant(const char* name, const Json& value) {
        return put(name, {{"const", value}}, [value](const Of&) { return value; });
    }

    /// An object; null where `get`, which gives a Part or an optional one, gives nothing.
    template <class Part, class Get>
    Shape& object(const char* name, const Shape<Part>& part, Get get, const char* about = "") {
        using Got = std::decay_t<std::invoke_result_t<Get, const Of&>>;
        if constexpr (schema_detail::IsOptional<Got>::value) {
            return put(
                name, nullable(part.schema()),
                [part, get](const Of& of) {
                    const auto one = get(of);
                    return one ? part.json(*one) : Json();
                },
                about);
        } else {
            return put(
                name, part.schema(), [part, get](const Of& of) { return part.json(get(of)); },
                about);
        }
    }

    /// An array of objects. @param get gives the parts @param least how many there are at least
    template <class Part, class Get>
    Shape& array(const char* name, const Shape<Part>& part, Get get, const char* about = "",
                 unsigned least = 0) {
        return put(
            name, array_schema(part.schema(), least),
            [part, get](const Of& of) {
                Json all = Json::array();
                for (const auto& one : get(of)) all.push_back(part.json(one));
                return all;
            },
            about);
    }

    /// A field of that schema.
    template <class Get>
    Shape& put(const char* name, Json schema, Get get, const char* about = "") {
        if (*about != '\0') schema["description"] = about;
        schema_["properties"][name] = std::move(schema);
        schema_["required"].push_back(name);
        writers_.push_back([name, get](const Of& of, Json& json) { json[name] = get(of); });
        return *this;
    }

    /// The fields of a part, or of all its figures, among those of the whole.
    template <class Part, class Get>
    Shape& all_of(const Shape<Part>& part, Get get) {
        return join(part.schema(), [part, get](const Of& of) { return part.json(get(of)); });
    }
    template <class Part, class To, class Get>
    Shape& all_of(const FigureList<Part, To>& list, Get get) {
        return join(schema_of(list), [&list, get](const Of& of) { return json_of(list, get(of)); });
    }

    /// Results of earlier versions lack the field that was added last.
    Shape& newer() {
        schema_["required"].erase(schema_["required"].size() - 1);
        return *this;
    }

    /// The field that was added last is absent where its value is null.
    Shape& if_known() {
        newer();
        auto write = writers_.back();
        writers_.back() = [write](const Of& of, Json& json) {
            Json one;
            write(of, one);
            if (!one.front().is_null()) json.update(one);
        };
        return *this;
    }

    /// Leaves a field out.
    Shape& without(const char* name) {
        schema_["properties"].erase(name);
        Json required = Json::array();
        for (const Json& one : schema_["required"]) {
            if (one != name) required.push_back(one);
        }
        schema_["required"] = required;
        writers_.push_back([name](const Of&, Json& json) { json.erase(name); });
        return *this;
    }

    /// More of a field's schema.
    Shape& amend(const char* name, const Json& more) {
        schema_["properties"][name].update(more);
        return *this;
    }

    Json json(const Of& of) const {
        Json json = Json::object();
        for (const auto& write : writers_) write(of, json);
        return json;
    }
    const Json& schema() const { return schema_; }

private:
    template <class Get>
    Shape& join(const Json& schema, Get get) {
        schema_["properties"].update(schema["properties"]);
        for (const Json& name : schema["required"]) schema_["required"].push_back(name);
        writers_.push_back([get](const Of& of, Json& json) { json.update(get(of)); });
        return *this;
    }

    Json schema_ = object_schema();
    std::vector<std::function<void(const Of&, Json&)>> writers_;
};

/// The schema of a verb's document.
template <class Of>
Json document_schema(const char* title, const Shape<Of>& shape) {
    Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
    schema.update(shape.schema());
    return schema;
}

}  // namespace heapwood::app
