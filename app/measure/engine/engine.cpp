#include "app/measure/engine/engine.h"

#include <cstring>
#include <exception>
#include <filesystem>
#include <utility>

#include "app/base/log.h"
#include "app/base/text.h"
#include "app/base/version.h"

namespace heapwood::app {
const std::string& results_file(const std::string& json, const std::string& html) {
    return json.empty() || json == "-" ? html : json;
}

std::string partial_file(const std::string& results) {
    std::error_code ignored;
    if (results.empty() || results == "-") return "";
    if (std::filesystem::exists(results, ignored) &&
        !std::filesystem::is_regular_file(results, ignored)) {
        return "";
    }
    return results + ".partial";
}

Json header_of(const Plan& plan) {
    const Version& v = version();
    Json json{{"journal", "heapwood 4"},
              {"date", now()},
              {"version", std::string(v.version) + " " + v.git + " " + v.build_type}};
    json.update(plan.identity());
    json["allocators"] = Json::array();
    for (const Runner& runner : plan.runners) json["allocators"].push_back(runner.name);
    json["repeat"] = plan.repeat;
    json["adopted"] = plan.adopted();
    return json;
}

Engine::Engine(Plan& plan, const std::vector<std::string>& arguments, NotesFile notes)
    : plan_(plan),
      notes_(std::move(notes)),
      partial_(partial_file(notes_.results)),
      workers_(arguments, interrupts_.descriptor()),
      schedule_(plan, workers_, [this](const Json& entry) { note(entry); }) {
    open_journal();
}

void Engine::open_journal() {
    std::string path = notes_.resume;
    if (path.empty()) {
        path = partial_;
        std::error_code ignored;
        const auto size = path.empty() ? 0 : std::filesystem::file_size(path, ignored);
        if (size > 0 && !ignored) {
            throw UsageError("'" + path + "' has the turns of a run that " +
                             (Journal::is_in_use(path)
                                  ? "still goes on: wait for its end, or name another file"
                                  : "did not end: go on with --resume " + path + ", or delete it"));
        }
    }
    if (path.empty()) return;
    journal_.emplace(path, header_of(plan_));
    if (!notes_.resume.empty() && journal_->is_new()) {
        log::note("there is no '" + path + "' to go on from: it is made, and the run begins");
    }
    try {
        plan_.adopt(journal_->header().at("adopted"));
        for (const Json& entry : journal_->entries()) schedule_.replay(entry);
    } catch (const std::exception& error) {
        throw UsageError("'" + path + "' is damaged: " + error.what() +
                         "; delete it, or name another file");
    }
}

void Engine::note(const Json& entry) {
    if (!journal_ || journal_failed_ || journal_->append(entry)) return;
    journal_failed_ = true;
    log::error("'" + journal_->path() +
               "' could not be written in full: " + std::strerror(journal_->error()) +
               "; the run goes on, but cannot be resumed beyond this point");
}

std::string Engine::how_to_resume() const {
    if (!journal_) {
        return "no turns were noted to go on from: give --json FILE or --resume FILE next time";
    }
    if (journal_failed_) return "not all turns could be noted to go on from";
    if (!notes_.resume.empty()) return "go on with the same command";
    return "go on with the same command and --resume " + journal_->path();
}

void Engine::run() {
    try {
        schedule_.run();
    } catch (const Interrupted&) {
        code_ = static_cast<ExitCode>(128 + interrupts_.signal());
        log::error("interrupted; " + how_to_resume());
    } catch (const std::exception& error) {
        code_ = ExitCode::internal;
        log::error(std::string(error.what()) + "; " + how_to_resume());
    }
    plan_.end();
}

ExitCode Engine::finish(bool written) {
    if (code_ != ExitCode::done) return code_;
    if (!written || journal_failed_) return ExitCode::internal;
    if (journal_ && journal_->path() == partial_) journal_->remove();
    return ExitCode::done;
}

}  // namespace heapwood::app
