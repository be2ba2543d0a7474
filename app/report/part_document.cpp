#include "app/base/text.h"
#include "app/measure/part.h"
#include "app/report/documents.h"
#include "app/report/tables.h"

namespace heapwood::app {

Document document_of(const Part& part) {
    const std::string verb = part.run.at("kind");
    const std::string of = std::to_string(part.shard.of);
    Document document{
        .title = "heapwood " + verb,
        .tables = {facts_table("Shard", {{"shard", std::to_string(part.shard.number) + " of " + of},
                                         {"turns", grouped(part.turns.size())},
                                         {"device", part.machine.text()}})},
        .data = part_json(part)};
    if (part.complete) {
        document.remarks = {
            {"'heapwood merge' makes the results of the parts of all " + of + " shards."}};
    } else {
        document.remarks = {{"THE SHARD IS NOT COMPLETE: it had not all its turns.", true}};
    }
    return document;
}

}  // namespace heapwood::app
