/// @file
/// Journals, as --resume of `compare` and of `bench` reads them, and documents of what was in them.
/// The header says for which program a journal is, so it is taken as it is.
#include "app/measure/engine/journal.h"

#include "app/measure/builds/build_plan.h"
#include "app/measure/engine/schedule.h"
#include "app/measure/workloads/bench_report.h"
#include "app/measure/workloads/workload_plan.h"
#include "app/report/documents.h"
#include "app/report/renderers/formats.h"
#include "tests/fuzz/input_file.h"

namespace {

using namespace heapwood;
using namespace heapwood::app;

/// Nothing is measured.
class NoWorkers final : public Workers {
public:
    void prepare(const Runner&, const Setting&) override {}
    void await(const Runner&) override {}
    Answer ask(const Runner&, const Setting&, const Request&, double) override {
        throw Interrupted();
    }
    void stop(const Runner&) override {}
};

void render(const Document& document) {
    (void)as_text(document, false, true);
    (void)as_markdown(document);
    (void)as_latex(document);
    (void)as_csv(document);
    (void)as_json(document);
    (void)as_html(document);
}

/// Takes the journal's turns over as the engine does. @return whether it could
bool resumed(Plan& plan, const std::string& path) {
    try {
        const Journal journal(path, Json::object());
        NoWorkers workers;
        Schedule schedule(plan, workers, [](const Json&) {});
        plan.adopt(journal.header().at("adopted"));
        for (const Json& entry : journal.entries()) schedule.replay(entry);
    } catch (const std::runtime_error&) {
        return false;
    } catch (const std::invalid_argument&) {
        return false;
    } catch (const Json::exception&) {
        return false;
    }
    plan.end();
    return true;
}

std::vector<Runner> both_runners() {
    return {runner_of(*find_backend("atomicmalloc", false)),
            runner_of(*find_backend("halloc", false))};
}

void compare(const std::string& path) {
    Comparison comparison;
    Report& common = comparison.common;
    common.provenance.machine.name = "Machine";
    common.provenance.machine.memory = std::uint64_t{1} << 30;
    common.options.run.repeat = 2;
    common.options.minimal_pool = true;
    comparison.options.scenes = {"gen:soup:12"};
    comparison.options.pools = {PoolSize::parse("200x"), PoolSize::parse("20x")};
    BuildPlan plan(comparison, {both_runners()[0].backend, both_runners()[1].backend});
    if (resumed(plan, path)) render(document_of(comparison));
}

void bench(const std::string& path) {
    BenchReport report;
    report.run.repeat = 2;
    report.run.settings.quick = true;
    report.runners = both_runners();
    report.series = series_of("alloc", report.run.settings);
    report.series.resize(1);
    report.cells = cells_of(report.series, report.runners);
    WorkloadPlan plan(report);
    if (resumed(plan, path)) render(document_of(report));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::InputFile file(fuzz::text_of(data, size));
    compare(file.path());
    bench(file.path());
    return 0;
}
