#include "app/verbs/merged_run.h"

#include <algorithm>
#include <cstdlib>

#include "app/base/log.h"
#include "app/measure/engine.h"
#include "app/measure/input.h"
#include "app/measure/merging.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/prepare.h"

namespace heapwood::app {
namespace {

/// Notes the turns of all shard files where the verb goes on from, and says how.
ExitCode note_turns(const std::string& path, const Plan& plan,
                    const std::vector<ShardFile>& files) {
    Journal journal(path, header_of(plan));
    if (!journal.is_new()) throw UsageError("'" + path + "' is there already: name a new file");
    for (const ShardFile& file : files) {
        for (const Json& entry : file.turns) {
            if (!journal.append(entry)) throw UsageError("'" + path + "' could not be written");
        }
    }
    write_to_stdout(files.front().command({"--resume", path}) + "\n");
    return ExitCode::done;
}

/// Says where each cell of the results comes from.
void add_origins(Json& data, const std::vector<ShardFile>& files,
                 const std::vector<unsigned>& shard) {
    Json& cells = data[data.at("kind") == "replay" ? "results" : "cells"];
    // Cells behind those of the plan nobody has measured: the compiler told them.
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells[i]["shard"] = i < shard.size() ? Json(shard[i]) : Json();
    }
    for (const ShardFile& file : files) {
        Json origin{{"number", file.shard.number}};
        origin.update(file.provenance);
        data["shards"].push_back(origin);
    }
}

/// The run of a verb, put together.
class Merging {
public:
    Merging(const MergeOptions& options, const Backends& available,
            const std::vector<ShardFile>& files, Publisher& publisher)
        : options_(options), available_(available), files_(files), publisher_(publisher) {}

    ExitCode operator()(const CompareOptions& options) {
        Comparison comparison = new_comparison(options, machine());
        comparison.common.date = date();
        Compared what = compared(options, available_, machine());
        what.scenes.clear();  // their facts are in the files
        for (const Json& facts : files_.front().input) {
            read_scene_facts(facts, comparison.scenes.emplace_back(comparison.common));
        }
        BuildPlan plan(comparison, what);
        const ExitCode code = put_together(plan, [&] { return document_of(comparison); });
        if (code != ExitCode::done || !options_.resume.empty()) return code;
        if (verdict(comparison) != ExitCode::done) log::error(summary(comparison));
        return verdict(comparison);
    }

    ExitCode operator()(const BenchOptions& options) {
        BenchFiles read;
        const Json& facts = files_.front().input;
        if (!options.sizes.empty()) read.sizes = facts.at("sizes").get<SizesFile>();
        if (!options.graph.empty()) read.graph = facts.at("graph").get<GraphFile>();
        BenchReport report = new_bench(options, available_, machine(), read);
        report.date = date();
        WorkloadPlan plan(report);
        const ExitCode code = put_together(plan, [&] {
            add_registers(report);
            return document_of(report);
        });
        return code == ExitCode::done ? verdict(report) : code;
    }

    ExitCode operator()(const ReplayOptions& options) {
        ReplayReport report;
        read_trace_facts(files_.front().input, report);
        add_cells(report, options, machine(), choose_runners(available_, options, machine().gpu));
        report.turns.date = date();
        const std::string digest = files_.front().run.at("trace");
        WorkloadPlan plan(report.turns, replayed(report, options, digest, 0));
        const ExitCode code = put_together(plan, [&] {
            report.pool_bytes = plan.pool_bytes();
            return document_of(report);
        });
        return code == ExitCode::done ? verdict(report.turns) : code;
    }

    /// Any other verb, or arguments that this program does not understand.
    template <class Other>
    ExitCode operator()(const Other&) {
        throw ShardFileError("'" + files_.front().path + "' has arguments of no run with shards");
    }

private:
    const Machine& machine() const { return files_.front().machine; }
    /// Of the first turns.
    std::string date() const {
        std::vector<std::string> dates;
        for (const ShardFile& file : files_) dates.push_back(file.run.at("date"));
        return *std::min_element(dates.begin(), dates.end());
    }
    template <class MakeDocument>
    ExitCode put_together(Plan& plan, const MakeDocument& make_document) {
        const std::vector<unsigned> shard = take_over(plan, files_);
        if (!options_.resume.empty()) return note_turns(options_.resume, plan, files_);
        plan.end();
        Document document = make_document();
        add_origins(document.data, files_, shard);
        return publisher_.publish(document) ? ExitCode::done : ExitCode::internal;
    }

    const MergeOptions& options_;
    const Backends& available_;
    const std::vector<ShardFile>& files_;
    Publisher& publisher_;
};

/// The command line of the run, understood once more: by the variables that it was given with.
CommandLine understood(const ShardFile& file) {
    for (const auto& [name, value] : run_variables()) unsetenv(name.c_str());
    for (const auto& [name, value] : file.environment) setenv(name.c_str(), value.c_str(), 1);
    for (const char* own : {"HEAPWOOD_SHARD", "HEAPWOOD_JSON", "HEAPWOOD_RESUME"}) unsetenv(own);
    const std::vector<std::string> arguments = file.common_arguments();
    std::vector<const char*> words;
    for (const std::string& word : arguments) words.push_back(word.c_str());
    return parse(static_cast<int>(words.size()), words.data());
}

}  // namespace

ExitCode report_merged(const MergeOptions& options, const Backends& available,
                       const std::vector<ShardFile>& files, Publisher& publisher) {
    const ShardFile& first = files.front();
    try {
        return std::visit(Merging(options, available, files, publisher), understood(first).verb);
    } catch (const Json::exception& error) {
        throw damaged_shard_file(first.path, error.what(),
                                 "call again: " + first.command_of(first.shard.number));
    }
}

}  // namespace heapwood::app
