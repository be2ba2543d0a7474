#include "app/report/html.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace heapwood::app {
namespace {

/// What a browser takes for the content of the script element with that id: up to "</script".
std::string embedded(const std::string& page) {
    const std::string opening = "<script id=\"results\" type=\"application/json\">";
    const std::size_t begin = page.find(opening) + opening.size();
    return page.substr(begin, page.find("</script", begin) - begin);
}

TEST(Html, HoldsTheResultsWhateverTheyAre) {
    const nlohmann::json json{{"path", "</script><!--<script>&amp; \"q\" \\ HEAPWOOD_RESULTS é"},
                              {"numbers", {1, 2.5}}};
    const std::string page = as_html(json.dump(2));
    EXPECT_EQ(nlohmann::json::parse(embedded(page)), json);
    EXPECT_EQ(embedded(page).find('<'), std::string::npos);
}

TEST(Html, IsOneWholePage) {
    const std::string page = as_html("{}");
    EXPECT_EQ(page.find("<!DOCTYPE html>"), 0U);
    EXPECT_EQ(page.substr(page.size() - 8), "</html>\n");
    EXPECT_EQ(page.find("PAGE_"), std::string::npos) << "a part was not put in";
    EXPECT_EQ(page.find("HEAPWOOD_RESULTS"), std::string::npos);
    // The one address is the name of SVG's namespace, which nothing fetches.
    const std::size_t address = page.find("://");
    EXPECT_EQ(page.substr(address - 4, 30), "http://www.w3.org/2000/svg', n");
    EXPECT_EQ(page.find("://", address + 1), std::string::npos);
}

}  // namespace
}  // namespace heapwood::app
