/// @file
/// The verb `compare`.
#include "app/base/log.h"
#include "app/measure/contest.h"
#include "app/measure/worker.h"
#include "app/report/comparison_document.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"

namespace heapwood::app {
namespace {

/// How many cells have no figures, and why one of the worst has none.
std::string summary(const Comparison& comparison) {
    const ExitCode worst = verdict(comparison);
    std::size_t cells = 0;
    std::size_t failed = 0;
    std::string example;
    for (const Group& group : comparison.groups) {
        for (const Result& r : group.report.results) {
            ++cells;
            if (r.outcome == Outcome::done) continue;
            ++failed;
            if (!example.empty() || exit_code(r.outcome) != worst) continue;
            example = group.report.scene_path + ", pool " + group.pool + ", " + r.allocator.name +
                      ": " + r.message;
        }
    }
    return std::to_string(failed) + " of " + std::to_string(cells) + " cells failed; " + example;
}

/// How the user gets the rest of what was interrupted.
std::string how_to_resume(const CompareOptions& options, Contest& contest) {
    const Journal* journal = contest.journal();
    if (journal == nullptr) {
        return "no turns were noted to go on from: give --json FILE or --resume FILE next time";
    }
    if (contest.journal_failed()) return "not all turns could be noted to go on from";
    if (!options.resume.empty()) return "go on with the same command";
    return "go on with the same command and --resume " + journal->path();
}

}  // namespace

ExitCode compare(const CompareOptions& options, const std::vector<const Backend*>& available) {
    if (!options.worker.empty()) return serve(options, available);
    check(options.config);
    Publisher publisher(options.output);
    Contest contest(options, available);
    Comparison& comparison = contest.comparison();
    ExitCode code = ExitCode::done;
    try {
        contest.run();
    } catch (const Interrupted&) {
        code = static_cast<ExitCode>(128 + contest.signal());
        log::error("interrupted; " + how_to_resume(options, contest));
    } catch (const std::exception& error) {
        code = ExitCode::internal;
        log::error(std::string(error.what()) + "; " + how_to_resume(options, contest));
    }
    judge(comparison);
    comparison.published = options.published;
    const bool written = publisher.publish(document_of(comparison));
    if (code != ExitCode::done) return code;
    if (!written || contest.journal_failed()) return ExitCode::internal;
    Journal* journal = contest.journal();
    if (journal != nullptr && journal->path() == partial(options)) journal->remove();
    code = verdict(comparison);
    if (code != ExitCode::done) log::error(summary(comparison));
    return code;
}

}  // namespace heapwood::app
