#include "app/base/text.h"
#include "app/measure/shard_file.h"
#include "app/report/documents.h"
#include "app/report/tables.h"

namespace heapwood::app {

Document document_of(const ShardFile& file) {
    const std::string verb = file.run.at("kind");
    const std::string of = std::to_string(file.shard.of);
    Document document{
        .title = "heapwood " + verb,
        .tables = {facts_table("Shard", {{"shard", std::to_string(file.shard.number) + " of " + of},
                                         {"turns", grouped(file.turns.size())},
                                         {"device", file.machine.text()}})},
        .data = shard_file_json(file)};
    if (file.complete) {
        document.remarks = {
            {"'heapwood merge' makes the results of the shard files of all " + of + " shards."}};
    } else {
        document.remarks = {{"THE SHARD IS NOT COMPLETE: it had not all its turns.", true}};
    }
    return document;
}

}  // namespace heapwood::app
