#include "app/cli/common.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "app/cli/forms.h"
#include "app/cli/values.h"

namespace heapwood::app {
namespace {

/// An option that is on or off.
void add_switch(CLI::App& verb, const char* name, bool& value, const char* what) {
    verb.add_option_function<std::string>(
            name,
            [&value, name](const std::string& text) {
                static const std::map<std::string, bool> kStates{{"on", true}, {"off", false}};
                value = named(kStates, name, text);
            },
            what)
        ->default_str(value ? "on" : "off")
        ->type_name("on|off");
}

}  // namespace

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

void add_output(CLI::App& verb, OutputOptions& output, bool latex) {
    verb.add_option("--json", output.json,
                    "Write the results as JSON to this file; '-': to standard output, alone")
        ->type_name("FILE")
        ->group("Output");
    std::vector<CLI::Option*> forms{
        verb.add_flag("--csv", output.csv, "Print the results as CSV"),
        verb.add_flag("--markdown", output.markdown, "Print the results as Markdown tables")};
    if (latex) {
        forms.push_back(
            verb.add_flag("--latex", output.latex, "Print the results as LaTeX tables"));
    }
    for (std::size_t i = 0; i < forms.size(); ++i) {
        forms[i]->group("Output");
        for (std::size_t j = 0; j < i; ++j) forms[i]->excludes(forms[j]);
    }
    // Two documents in one stream would be neither.
    verb.callback([&output, forms] {
        if (output.json != "-") return;
        for (const CLI::Option* form : forms) {
            if (form->as<bool>()) throw CLI::ExcludesError("--json -", form->get_name());
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

void add_forms(CLI::App& verb, allocators::Forms& forms) {
    verb.add_option_function<std::string>(
            "--presplit",
            [&forms](const std::string& text) {
                forms.presplit = named(presplits(), "--presplit", text);
            },
            "How circular allocators with a single hint cut their pool beforehand")
        ->default_str(name_of(presplits(), forms.presplit))
        ->type_name("levels|halving|uniform|none");
    verb.add_option("--page", forms.page_bytes, "Bytes of scatteralloc's pages")
        ->check(CLI::IsMember({4096, 8192, 16384}).description(""))
        ->capture_default_str()
        ->type_name("4096|8192|16384");
    verb.add_option_function<std::string>(
            "--fallback",
            [&forms](const std::string& text) {
                forms.fallback = named(fallbacks(), "--fallback", text);
            },
            "Where halloc and xmalloc get what is too large for them: from their own pool, or from "
            "CUDA's malloc, as published, which takes a quarter of it")
        ->default_str(name_of(fallbacks(), forms.fallback))
        ->type_name("pool|cudamalloc");
    add_switch(verb, "--superblocks", forms.superblocks,
               "xmalloc takes blocks sixteen at a time (on: as published 2010) or one by one (off: "
               "2013)");
}

std::vector<std::string> allocator_options(const CLI::App& verb) {
    std::vector<std::string> given;
    for (const char* name : {"--allocator", "--pool", "--presplit", "--page", "--fallback",
                             "--superblocks", "--minimal-pool"}) {
        if (verb.count(name) > 0) given.emplace_back(name);
    }
    return given;
}

}  // namespace heapwood::app
