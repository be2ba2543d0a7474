#include "app/cli/common.h"

#include <algorithm>
#include <cctype>

#include "app/backends/allocator_options.h"
#include "app/base/text.h"
#include "app/cli/values.h"

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
    verb.add_option("--html", output.html,
                    "Write the results as a page for a browser to this file: tables that can be "
                    "sorted, plots, provenance")
        ->check([](const std::string& path) {
            return path == "-" ? "the page needs a file: standard output has the tables" : "";
        })
        ->type_name("FILE")
        ->group("Output");
    const std::vector<CLI::Option*> formats{
        verb.add_flag("--csv", output.csv, "Print the results as CSV"),
        verb.add_flag("--markdown", output.markdown, "Print the results as Markdown tables"),
        verb.add_flag("--latex", output.latex, "Print the results as LaTeX tables")};
    for (std::size_t i = 0; i < formats.size(); ++i) {
        formats[i]->group("Output");
        for (std::size_t j = 0; j < i; ++j) formats[i]->excludes(formats[j]);
    }
    // Two documents in one stream would be neither.
    verb.callback([&output, formats] {
        if (output.json != "-") return;
        for (const CLI::Option* format : formats) {
            if (format->as<bool>()) throw CLI::ExcludesError("--json -", format->get_name());
        }
    });
}

void add_allocators(CLI::App& verb, std::vector<std::string>& names, const char* what) {
    verb.add_option_function<std::vector<std::string>>(
            "-a,--allocator",
            [&names](const std::vector<std::string>& lists) {
                names = items("--allocator", lists);
            },
            what)
        ->allow_extra_args(false)
        ->default_str(joined(names, ","))
        ->type_name("NAME");
}

void add_resume(CLI::App& verb, std::string& file) {
    verb.add_option("--resume", file,
                    "Note every turn in this file, and go on from what is in it; without it, with "
                    "--json FILE, turns are noted in FILE.partial until all are done; so are they "
                    "with --html")
        ->type_name("FILE")
        ->group("Output");
}

PoolSize pool_size(const std::string& text) {
    try {
        return PoolSize::parse(text);
    } catch (const UsageError& error) {
        throw CLI::ValidationError("--pool", error.what());
    }
}

void add_choices(CLI::App& verb, allocators::Choices& choices) {
    choices = default_choices();
    for (const allocators::Option& option : offered_options()) {
        const std::vector<std::string> values = values_of(option);
        verb.add_option_function<std::string>(
                option.flag,
                [&choices, option, values](const std::string& text) {
                    if (std::find(values.begin(), values.end(), text) == values.end()) {
                        throw CLI::ValidationError(
                            option.flag, "'" + text + "' is none of " + joined(values, ", "));
                    }
                    choose(choices, option.key, text);
                },
                option.help)
            ->default_str(values.front())
            ->type_name(option.values);
    }
}

std::vector<std::string> allocator_options(const CLI::App& verb) {
    std::vector<std::string> given;
    const auto add = [&](const char* name) {
        if (verb.get_option_no_throw(name) != nullptr && verb.count(name) > 0) {
            given.emplace_back(name);
        }
    };
    for (const char* name : {"--allocator", "--pool", "--minimal-pool"}) add(name);
    for (const allocators::Option& option : offered_options()) add(option.flag);
    return given;
}

}  // namespace heapwood::app
