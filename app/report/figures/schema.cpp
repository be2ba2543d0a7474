#include "app/report/figures/schema.h"

#include <algorithm>
#include <utility>

#include "app/base/json.h"
#include "app/base/text.h"
#include "scenes/number.h"

namespace heapwood::app {
namespace {

bool has_type(const Json& value, std::string_view type) {
    return (type == "null" && value.is_null()) || (type == "boolean" && value.is_boolean()) ||
           (type == "string" && value.is_string()) || (type == "array" && value.is_array()) ||
           (type == "object" && value.is_object()) || (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number_integer());
}

}  // namespace

Json object_schema() {
    return {{"type", "object"},
            {"additionalProperties", false},
            {"required", Json::array()},
            {"properties", Json::object()}};
}

Json& object_at(Json& schema, const std::string& path) {
    Json* object = &schema;
    for (std::size_t begin = 1; begin < path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string name = path.substr(begin, end - begin);
        if (!(*object)["properties"].contains(name)) {
            (*object)["properties"][name] = object_schema();
            (*object)["required"].push_back(name);
        }
        object = &(*object)["properties"][name];
        begin = end + 1;
    }
    return *object;
}

Json array_schema(Json items, unsigned least) {
    Json schema{{"type", "array"}, {"items", std::move(items)}};
    if (least > 0) schema["minItems"] = least;
    return schema;
}

Json nullable(Json schema) {
    if (schema.contains("type") && schema["type"].is_string()) {
        schema["type"] = Json::array({schema["type"], "null"});
    }
    if (schema.contains("enum")) schema["enum"].push_back(nullptr);
    return schema;
}

Json json_value(float value) {
    return *scenes::read_number<double>(shortest(value));
}

Json json_value(const Digest& digest) {
    return hex(digest.value);
}

std::string misfit(const Json& value, const Json& schema) {
    const Json types = schema.value("type", Json());
    const bool fits = types.is_null() ||
                      (types.is_string() && has_type(value, types.get<std::string>())) ||
                      (types.is_array() && std::ranges::any_of(types, [&](const Json& type) {
                           return has_type(value, type.get<std::string>());
                       }));
    if (!fits) return "of another type";
    if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
        return "none of those that there are";
    if (!value.is_number()) return "";
    const auto number = value.get<double>();
    if (schema.contains("minimum") && !(number >= schema["minimum"].get<double>())) {
        return "too small";
    }
    if (schema.contains("maximum") && !(number <= schema["maximum"].get<double>())) {
        return "too large";
    }
    return "";
}

}  // namespace heapwood::app
