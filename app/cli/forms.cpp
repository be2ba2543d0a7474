#include "app/cli/forms.h"

#include <nlohmann/json.hpp>

namespace heapwood::app {

const std::map<std::string, allocators::Presplit>& presplits() {
    using allocators::Presplit;
    static const std::map<std::string, Presplit> all{{"levels", Presplit::levels},
                                                     {"halving", Presplit::halving},
                                                     {"uniform", Presplit::uniform},
                                                     {"none", Presplit::none}};
    return all;
}

const std::map<std::string, allocators::Fallback>& fallbacks() {
    using allocators::Fallback;
    static const std::map<std::string, Fallback> all{{"pool", Fallback::pool},
                                                     {"cudamalloc", Fallback::cudamalloc}};
    return all;
}

nlohmann::ordered_json forms_json(const allocators::Forms& forms) {
    return {{"presplit", name_of(presplits(), forms.presplit)},
            {"fallback", name_of(fallbacks(), forms.fallback)},
            {"superblocks", forms.superblocks ? "on" : "off"},
            {"page_bytes", forms.page_bytes}};
}

allocators::Forms read_forms(const nlohmann::ordered_json& json) {
    return {.presplit = presplits().at(json.at("presplit")),
            .fallback = fallbacks().at(json.at("fallback")),
            .superblocks = json.at("superblocks") == "on",
            .page_bytes = json.at("page_bytes")};
}

}  // namespace heapwood::app
