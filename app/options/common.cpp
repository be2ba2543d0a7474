#include "app/options/common.h"

#include <algorithm>
#include <cctype>

namespace heapwood::app {

void name_environment(CLI::App& verb) {
    for (CLI::Option* option : verb.get_options()) {
        if (option->get_lnames().empty() || !option->get_envname().empty()) continue;
        if (option->get_group().empty()) continue;
        std::string name = option->get_lnames().front();
        if (name == "help" || name == "version") continue;
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
            return c == '-' ? '_' : static_cast<char>(std::toupper(c));
        });
        option->envname("HEAPWOOD_" + name);
    }
}

void Volume::add_to(CLI::App& verb) {
    auto* q = verb.add_flag("-q,--quiet", quiet, "Say nothing but results and errors");
    verb.add_flag("-v,--verbose", verbose, "Say more")->excludes(q);
}

void add_output(CLI::App& verb, OutputOptions& output) {
    verb.add_option("--json", output.json,
                    "Write the results as JSON to this file; '-': to standard output, alone")
        ->type_name("FILE")
        ->group("Output");
    auto* csv = verb.add_flag("--csv", output.csv, "Print the results as CSV")->group("Output");
    verb.add_flag("--markdown", output.markdown, "Print the results as Markdown tables")
        ->group("Output")
        ->excludes(csv);
    // Two documents in one stream would be neither.
    verb.callback([&output] {
        if (output.json == "-" && (output.csv || output.markdown)) {
            throw CLI::ExcludesError("--json -", output.csv ? "--csv" : "--markdown");
        }
    });
}

PoolSize pool_size(const std::string& text) {
    try {
        return PoolSize::parse(text);
    } catch (const UsageError& error) {
        throw CLI::ValidationError("--pool", error.what());
    }
}

std::vector<std::string> allocator_options(const CLI::App& verb) {
    std::vector<std::string> given;
    for (const char* name : {"--allocator", "--pool", "--presplit", "--minimal-pool"}) {
        if (verb.count(name) > 0) given.emplace_back(name);
    }
    return given;
}

}  // namespace heapwood::app
