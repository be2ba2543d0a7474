/// @file
/// JSON objects and their schemas, which are made from the same list of fields.
#include "app/report/figures/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace heapwood::app {
namespace {

struct Part {
    std::string word;
};

struct Whole {
    unsigned count = 0;
    std::optional<double> ratio;
    std::uint64_t digest = 0;
    std::vector<Part> parts;
    std::optional<Part> one;
};

Shape<Whole> whole_shape() {
    Shape<Part> part;
    part.field("word", [](const Part& p) { return p.word; });
    Shape<Whole> shape;
    shape.field("count", [](const Whole& w) { return w.count; }, "of parts", {{"minimum", 1}})
        .field("ratio", [](const Whole& w) { return w.ratio; })
        .field("digest", [](const Whole& w) { return Digest{w.digest}; })
        .array(
            "parts", part, [](const Whole& w) { return w.parts; }, "", 1)
        .object("one", part, [](const Whole& w) { return w.one; })
        .if_known();
    return shape;
}

TEST(Shape, ObjectAndSchemaHaveTheSameFieldsInOrder) {
    const Json json = whole_shape().json({2, 0.5, 255, {{"a"}, {"b"}}, Part{"c"}});
    EXPECT_EQ(json.dump(), R"({"count":2,"ratio":0.5,"digest":"00000000000000ff",)"
                           R"("parts":[{"word":"a"},{"word":"b"}],"one":{"word":"c"}})");
    const Json schema = whole_shape().schema();
    std::vector<std::string> names;
    for (const auto& [name, value] : schema.at("properties").items()) {
        names.push_back(name);
        EXPECT_EQ(misfit(json.at(name), value), "") << name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"count", "ratio", "digest", "parts", "one"}));
    EXPECT_EQ(schema.at("required"), Json({"count", "ratio", "digest", "parts"}));
    EXPECT_EQ(schema.at("properties").at("count").at("description"), "of parts");
    EXPECT_EQ(schema.at("properties").at("count").at("minimum"), 1);
    EXPECT_EQ(schema.at("properties").at("parts").at("minItems"), 1);
}

TEST(Shape, WhatIsUnknownIsNullOrAbsent) {
    const Json json = whole_shape().json({1, std::nullopt, 0, {{"a"}}, std::nullopt});
    EXPECT_TRUE(json.at("ratio").is_null());
    EXPECT_FALSE(json.contains("one"));
    EXPECT_EQ(misfit(Json(), whole_shape().schema().at("properties").at("ratio")), "");
}

TEST(Shape, PartsOfOthersCanBeLeftOutAndAmended) {
    Shape<Whole> shape;
    shape.all_of(whole_shape(), [](const Whole& w) { return w; })
        .without("digest")
        .amend("count", {{"maximum", 3}});
    const Json json = shape.json({1, 1.0, 1, {{"a"}}, std::nullopt});
    EXPECT_FALSE(json.contains("digest"));
    EXPECT_FALSE(shape.schema().at("properties").contains("digest"));
    EXPECT_EQ(shape.schema().at("required"), Json({"count", "ratio", "parts"}));
    EXPECT_EQ(misfit(4, shape.schema().at("properties").at("count")), "too large");
}

TEST(JsonValue, FloatsHaveTheDigitsThatTheyWereGivenWith) {
    EXPECT_EQ(json_value(0.3F).dump(), "0.3");
    EXPECT_EQ(json_value(std::optional(0.1F)).dump(), "0.1");
    EXPECT_EQ(json_value(std::vector{16777216.0F}).dump(), "[16777216.0]");
    EXPECT_EQ(json_value(std::numeric_limits<float>::infinity()).dump(), "null");
}

TEST(Misfit, RefusesOtherTypesAndNumbersOutOfRange) {
    const Json count = schema_of<unsigned>();
    for (const Json& wrong : {Json(), Json(1.5), Json("1"), Json(true), Json::array()}) {
        EXPECT_EQ(misfit(wrong, count), "of another type") << wrong;
    }
    EXPECT_EQ(misfit(-1, count), "too small");
    EXPECT_EQ(misfit(std::numeric_limits<std::uint64_t>::max(), count), "");
    EXPECT_EQ(misfit(1, schema_of<double>()), "");
    EXPECT_EQ(misfit(std::numeric_limits<double>::quiet_NaN(), schema_of<double>()), "too small");
    EXPECT_EQ(misfit("c", one_of(Json{"a", "b"})), "none of those that there are");
    EXPECT_EQ(misfit(Json(), nullable(one_of(Json{"a"}))), "");
    EXPECT_EQ(misfit(Json(), nullable(nullable(count))), "");
}

}  // namespace
}  // namespace heapwood::app
