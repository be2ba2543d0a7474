#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "app/backends/allocator_options.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/contest.h"
#include "app/report/json_parts.h"

namespace heapwood::app {

std::string partial(const CompareOptions& options) {
    const std::string& json = options.output.json;
    const std::string& file = json.empty() || json == "-" ? options.html : json;
    return file.empty() ? "" : file + ".partial";
}

/// All that a resumed run must have in common with the run that it resumes.
Journal::Json Contest::header() const {
    const Report& common = comparison_.common;
    Json scenes = Json::array();
    for (const Report& scene : comparison_.scenes) {
        scenes.push_back({scene.scene_path, hex(scene.scene_digest)});
    }
    Json allocators = Json::array();
    for (const Backend* backend : backends_) allocators.push_back(backend->traits.name);
    const Version& v = version();
    return {{"journal", "heapwood compare 1"},
            {"date", common.date},
            {"version", std::string(v.version) + " " + v.git + " " + v.build_type},
            {"device", common.machine.name},
            {"scenes", scenes},
            {"pools", comparison_.pools},
            {"allocators", allocators},
            {"repeat", options_.repeat},
            {"warm_up", options_.warm_up},
            {"threads", options_.threads},
            {"forms", choices_json(options_.choices)},
            {"arrays", options_.config.small_arrays ? "every" : "large"},
            {"host_pool", keeps_memory(common)},
            {"statistics", options_.statistics},
            {"verify", options_.verify},
            {"minimal_pool", options_.minimal_pool},
            {"configuration", configuration_json(common)},
            // What a default pool may have depends on what else runs on the machine.
            {"adopted", {{"memory", common.machine.memory}}}};
}

void Contest::open_journal() {
    std::string path = options_.resume;
    if (path.empty()) {
        path = partial(options_);
        std::error_code ignored;
        const auto size = path.empty() ? 0 : std::filesystem::file_size(path, ignored);
        if (size > 0 && !ignored) {
            throw UsageError("'" + path +
                             "' has the turns of a comparison that did not end: go on with "
                             "--resume " +
                             path + ", or delete it");
        }
    }
    if (path.empty()) return;
    journal_.emplace(path, header());
    const std::uint64_t memory = journal_->header().at("adopted").at("memory");
    comparison_.common.machine.memory = memory;
    for (Report& scene : comparison_.scenes) scene.machine.memory = memory;
}

void Contest::replay() {
    if (!journal_) return;
    for (const Json& entry : journal_->entries()) {
        try {
            Group& group = comparison_.groups.at(entry.at("group").get<std::size_t>());
            const auto found =
                std::find_if(backends_.begin(), backends_.end(), [&](const Backend* backend) {
                    return entry.at("allocator") == backend->traits.name;
                });
            if (found == backends_.end()) throw std::invalid_argument("unknown allocator");
            const auto a = static_cast<std::size_t>(found - backends_.begin());
            Result& result = group.report.results[a];
            if (entry.contains("turn")) {
                add_turn(result, read_result(entry.at("turn"), **found), options_.repeat);
            } else {
                searched_[number(group)][a] = true;
                const Json& bytes = entry.at("minimal_pool");
                if (!bytes.is_null()) result.minimal_pool_bytes = bytes.get<std::uint64_t>();
            }
        } catch (const std::exception& error) {
            throw UsageError("'" + journal_->path() + "' is damaged: " + error.what() +
                             "; delete it, or name another file");
        }
    }
}

void Contest::note(const Group& group, std::size_t allocator, const char* what, const Json& value) {
    if (!journal_ || journal_failed_) return;
    const auto number = static_cast<std::size_t>(&group - comparison_.groups.data());
    const Json entry{
        {"group", number}, {"allocator", backends_[allocator]->traits.name}, {what, value}};
    if (journal_->append(entry)) return;
    journal_failed_ = true;
    log::error("'" + journal_->path() +
               "' could not be written in full; the comparison goes on, but cannot be resumed "
               "beyond this point");
}

}  // namespace heapwood::app
