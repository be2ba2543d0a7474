#include "app/report/page/page.h"

namespace heapwood::app {

std::string page_of(std::string_view json) {
    constexpr std::string_view kMark = "HEAPWOOD_RESULTS";
    const std::string_view page = kPage;
    const std::size_t at = page.find(kMark);
    std::string result(page.substr(0, at));
    result.reserve(page.size() + json.size());
    // "</script>" or "<!--" in a path would end the script that holds the JSON. Outside of strings
    // JSON has no "<", so an escape may stand for each.
    for (const char c : json) {
        if (c == '<') {
            result += "\\u003c";
        } else {
            result += c;
        }
    }
    result += page.substr(at + kMark.size());
    return result;
}

}  // namespace heapwood::app
