#include <algorithm>
#include <map>

#include "app/backends/allocator_options.h"
#include "app/cli/verb_options.h"

namespace heapwood::app {
void add_output(Options& options, OutputOptions& output) {
    options.group("Output");
    options.file("--json", output.json,
                 "Write the results as JSON to this file; '-': to standard output, alone");
    options.file("--html", output.html,
                 "Write the results as a page for a browser to this file: tables that can be "
                 "sorted, plots, provenance",
                 "the page needs a file: standard output has the tables");
    options.flag("--csv", output.csv, "Print the results as CSV");
    options.flag("--markdown", output.markdown, "Print the results as Markdown tables");
    options.flag("--latex", output.latex, "Print the results as LaTeX tables");
}

void check(const OutputOptions& output) {
    std::vector<std::string> asked;
    if (output.json == "-") asked.emplace_back("--json -");
    if (output.csv) asked.emplace_back("--csv");
    if (output.markdown) asked.emplace_back("--markdown");
    if (output.latex) asked.emplace_back("--latex");
    // Two documents in one stream would be neither.
    if (asked.size() > 1) throw UsageError(asked[0] + " excludes " + asked[1]);
}

void add_run(Options& options, RunParameters& o, allocators::Choices& choices, unsigned& threads,
             const char* what) {
    options
        .list("-a,--allocator", "NAME", joined(o.allocators, ","), what,
              [&o](const auto& names) { o.allocators = names; })
        .only_for(Builds::with_allocator);
    options.value("-d,--device", "auto|gpu|cpu", "auto",
                  "auto: a GPU if there is one, else the CPU; cuda: gpu",
                  [&o](const std::string& text) {
                      static const std::map<std::string, DeviceChoice> kChoices{
                          {"auto", DeviceChoice::automatic},
                          {"cpu", DeviceChoice::cpu},
                          {"cuda", DeviceChoice::gpu},
                          {"gpu", DeviceChoice::gpu}};
                      o.device = named(kChoices, text);
                  });
    options.whole("--threads", threads, {0, 1024},
                  "CPU only: threads; 0: one for each hardware thread");
    choices = default_choices();
    for (const allocators::Option& option : offered_options()) {
        const std::vector<std::string> values = values_of(option);
        options
            .value(option.flag, option.values, values.front(), option.help,
                   [&choices, option, values](const std::string& text) {
                       if (std::find(values.begin(), values.end(), text) == values.end()) {
                           throw UsageError("'" + text + "' is none of " + joined(values, ", "));
                       }
                       choose(choices, option.key, text);
                   })
            .only_for(Builds::with_allocator);
    }
}

void add_resume(Options& options, RunParameters& o) {
    options.group("Output");
    options.file("--resume", o.resume,
                 "Note every turn in this file, and go on from what is in it; without it, with "
                 "--json FILE, turns are noted in FILE.partial until all are done; so are they "
                 "with --html");
}

void add_pool(Options& options, std::optional<PoolSize>& pool, const char* what) {
    options
        .value("-p,--pool", "SIZE", PoolSize().text(), what,
               [&pool, verb = options.verb()](const std::string& text) {
                   const std::size_t comma = text.find(',');
                   if (comma != text.npos) {
                       throw UsageError("'" + text + "' is a list, and " + verb +
                                        " takes one pool; choose one, as --pool " +
                                        PoolSize::parse(text.substr(0, comma)).text());
                   }
                   pool = PoolSize::parse(text);
               })
        .only_for(Builds::with_allocator);
}

}  // namespace heapwood::app
