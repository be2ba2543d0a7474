/// @file
/// The only file that includes CLI11.
#include "app/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>

#include "app/base/pool_size.h"
#include "app/base/printable.h"
#include "scenes/number.h"

namespace heapwood::app {
namespace {

/// "--pool" of "-p,--pool", "--clip" of "--clip,!--no-clip"; a word's name as it is.
std::string long_name_of(const std::string& names) {
    const std::size_t begin = std::min(names.find("--"), names.size());
    return begin == names.size() ? names : names.substr(begin, names.find(',', begin) - begin);
}

/// What gave an option its value: its long name, with the variable in brackets if that did. CLI11
/// counts as parsed what is on the command line alone.
std::string giver_of(const CLI::App& verb, const std::string& long_name) {
    const CLI::Option* option = verb.get_option(long_name);
    const auto& typed = verb.parse_order();
    const bool is_typed = std::find(typed.begin(), typed.end(), option) != typed.end();
    if (is_typed || option->get_envname().empty()) return long_name;
    return long_name + " (" + option->get_envname() + ")";
}

/// The option that `take` is to get the value of, with what gave the value before what `take`
/// refuses.
template <class Value>
CLI::Option* add_option(CLI::App& verb, const std::string& name, const char* what,
                        const std::function<void(const Value&)>& take) {
    const std::string long_name = long_name_of(name);
    const auto told = [&verb, long_name, take](const Value& value) {
        try {
            take(value);
        } catch (const UsageError& error) {
            throw CLI::ValidationError(giver_of(verb, long_name), error.what());
        }
    };
    return verb.add_option_function<Value>(name, told, what);
}

/// The items of lists with commas between them. @throws UsageError for an empty item.
std::vector<std::string> items(const std::vector<std::string>& lists) {
    std::vector<std::string> all;
    for (const std::string& list : lists) {
        for (std::size_t begin = 0; begin <= list.size();) {
            const std::size_t end = std::min(list.find(',', begin), list.size());
            if (end == begin) {
                throw UsageError("'" + list +
                                 "' has an empty item; write items with one comma between two");
            }
            all.push_back(list.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    return all;
}

/// What a flag's value says. @throws CLI::ValidationError: CLI11's own conversion takes 2x and -.
bool flag_value(const std::string& name, const std::string& text) {
    static const std::map<std::string, bool> kWords{
        {"0", false},   {"1", true},  {"false", false}, {"no", false},
        {"off", false}, {"on", true}, {"true", true},   {"yes", true}};
    try {
        return named(kWords, text);
    } catch (const UsageError& error) {
        throw CLI::ValidationError(name, error.what());
    }
}

/// All verbs, whether they are on the command line or not.
std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
    return app.get_subcommands(std::function<bool(const CLI::App*)>());
}

/// What is said of a verb, or of the program; hidden options are not.
VerbText text_of(const CLI::App& app) {
    VerbText text{app.get_name(), app.get_description(), app.get_footer(), {}};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        OptionText& one = text.options.emplace_back();
        for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
        for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
        const bool word = option->get_positional();
        if (word) one.names = {option->get_name(true)};
        const bool flag = option->get_items_expected_max() == 0;
        if (!flag && !word) one.type = option->get_type_name();
        one.standard = option->get_default_str();
        one.what = option->get_description();
        one.environment = option->get_envname();
    }
    return text;
}

/// Lets every option that has a long name be given by the environment too: --warm-up by
/// HEAPWOOD_WARM_UP. A variable has the same grammar in all verbs.
void name_environment(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        if (option->get_lnames().empty()) continue;
        std::string name = option->get_lnames().front();
        if (name == "help" || name == "version" || name == "manual") continue;
        if (name == "preset") name = "tree-preset";  // HEAPWOOD_PRESET is for scripts/heapwood
        // What is no value of other verbs' option of that name: bytes alone, and a picture.
        if (app.get_name() == "bench" && name == "pool") name = "bench-pool";
        if (app.get_name() == "render" && name == "out") name = "render-out";
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
            return c == '-' ? '_' : static_cast<char>(std::toupper(c));
        });
        option->envname("HEAPWOOD_" + name);
    }
}

/// Checks a word of the command line that gives a value to a flag's negation, as --no-clip=off:
/// CLI11 would negate it before the flag is assigned. @throws CLI::ValidationError.
void check_negation(const CLI::App& app, const std::string& word) {
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--no-") || equals == word.npos) return;
    const std::string name = word.substr(0, equals);
    for (const CLI::App* verb : verbs_of(app)) {
        if (verb->get_option_no_throw(name) == nullptr) continue;
        flag_value(name, word.substr(equals + 1));
        return;
    }
}

/// From CLI11 2.5 on examples would be made one paragraph, as running text is.
template <class Formatter>
void keep_lines(Formatter& formatter) {
    if constexpr (requires { formatter.enable_footer_formatting(false); }) {
        formatter.enable_footer_formatting(false);
    }
}

/// CLI11 answers a mistyped verb with "A subcommand is required"; say which was meant.
std::string verb_hint(const CLI::App& app, int argc, const char* const* argv) {
    std::vector<std::string> verbs;
    for (const CLI::App* verb : verbs_of(app)) verbs.push_back(verb->get_name());
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.empty() || word.front() == '-') continue;
        if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return "";
        return "'" + word + "' is none of the verbs " + joined(verbs, ", ") +
               did_you_mean(word, verbs);
    }
    return "";
}

}  // namespace

/// The flags of a verb. CLI11 assigns to one the text of its value.
struct Flags {
    struct Flag {
        const CLI::App& verb;
        std::string name;
        bool& value;

        Flag& operator=(const std::string& text) {
            value = flag_value(giver_of(verb, name), text);
            return *this;
        }
    };
    std::deque<Flag> all;  ///< stay where they are
};

// CLI11's own conversion takes -1 for a huge number and 010 for eight.
std::uint64_t read(const std::string& text, const Whole& allowed) {
    const auto value = scenes::read_plain_number<std::uint64_t>(text);
    if (value && *value >= allowed.least && *value <= allowed.most) return *value;
    if (value && *value == 0 && allowed.or_zero) return 0;
    throw UsageError("'" + text + "' is not " + (allowed.or_zero ? "0, or " : "") +
                     "a whole number from " + std::to_string(allowed.least) + " to " +
                     std::to_string(allowed.most));
}

std::uint64_t read_bytes(const std::string& text, const Whole& allowed, const char* example) {
    std::uint64_t value = 0;
    try {
        value = PoolSize::parse(text).bytes;
    } catch (const UsageError&) {
        // It would say what a pool's size may be.
        value = 0;
    }
    if (value >= allowed.least && value <= allowed.most) return value;
    throw UsageError("'" + text + "' is not a size from " + bytes_text(allowed.least) + " to " +
                     bytes_text(allowed.most) + ", such as " + example);
}

template <class T>
T read(const std::string& text, const Real& allowed) {
    const auto [least, open, most] = allowed;
    const auto value = scenes::read_plain_number<T>(text);
    if (value && std::isfinite(*value) && (open ? *value > least : *value >= least) &&
        *value <= most) {
        return *value;
    }
    throw UsageError("'" + text + "' is not a number " + (open ? "above " : "from ") +
                     shortest(least) + " up to " + shortest(most));
}
template float read<float>(const std::string&, const Real&);
template double read<double>(const std::string&, const Real&);

Options::Options(CLI::App& verb) : verb_(verb), flags_(std::make_shared<Flags>()) {}

void Options::text(const char* name, std::string& value, const char* what) {
    verb_.add_option(name, value, what)->required()->type_name("");
}

void Options::texts(const char* name, std::vector<std::string>& values, const char* what) {
    verb_.add_option(name, values, what)->required()->type_name("");
}

Options& Options::flag(const char* name, bool& value, const char* what) {
    flags_->all.push_back({verb_, long_name_of(name), value});
    return declare(verb_.add_flag(name, flags_->all.back(), what), name);
}

Options& Options::file(const char* name, std::string& path, const char* what, const char* refusal) {
    return value(name, "FILE", "", what, [&path, refusal](const std::string& text) {
        if (text == "-" && refusal != nullptr) throw UsageError(refusal);
        path = text;
    });
}

Options& Options::value(const char* name, const char* type, const std::string& standard,
                        const char* what, const Take& take) {
    return declare(add_option(verb_, name, what, take)->default_str(standard)->type_name(type),
                   name);
}

Options& Options::list(const char* name, const char* type, const std::string& standard,
                       const char* what, const TakeList& take) {
    const TakeList take_items = [take](const auto& lists) { take(items(lists)); };
    CLI::Option* option = add_option(verb_, name, what, take_items);
    option->allow_extra_args(false)->default_str(standard)->type_name(type);
    return declare(option, name);
}

Options& Options::declare(CLI::Option* option, const std::string& names) {
    if (!group_.empty()) option->group(group_);
    declared_.push_back({long_name_of(names)});
    return *this;
}

Options& Options::only_for(Builds builds) {
    declared_.back().builds = builds;
    return *this;
}

std::string Options::giver(const char* name) const {
    if (verb_.get_option_no_throw(name) == nullptr || verb_.count(name) == 0) return "";
    return giver_of(verb_, name);
}

std::vector<std::string> Options::givers(Builds builds) const {
    std::vector<std::string> all;
    for (const Declared& option : declared_) {
        const std::string one = option.builds == builds ? giver(option.name.c_str()) : "";
        if (!one.empty()) all.push_back(one);
    }
    return all;
}

std::string Options::verb() const {
    return verb_.get_name();
}

Program::Program(const char* what, const std::string& version, const char* examples)
    : app_(std::make_unique<CLI::App>(what, "heapwood")) {
    app_->set_version_flag("-V,--version", version);
    app_->require_subcommand(1);
    app_->footer(examples);
    keep_lines(*app_->get_formatter());
    own_ = std::make_unique<Options>(*app_);
    add_verbosity(*own_);
    add_manual();
    name_environment(*app_);
}

Program::~Program() = default;

void Program::add_verbosity(Options& options) {
    options.flag("-q,--quiet", quiet_, "Say nothing but results and errors; excludes --verbose");
    options.flag("-v,--verbose", verbose_, "Say more");
}

/// An option for those who make packages, and not in the help. Is answered as --version is.
void Program::add_manual() {
    static const std::map<std::string, std::string (*)(const ProgramText&)> kForms{
        {"man", manual_page},
        {"bash", bash_completion},
        {"zsh", zsh_completion},
        {"fish", fish_completion}};
    const std::function<void(const std::string&)> print = [this](const std::string& form) {
        ProgramText text{text_of(*app_), app_->version(), {}};
        for (CLI::App* verb : app_->get_subcommands([](CLI::App*) { return true; })) {
            name_environment(*verb);
            text.verbs.push_back(text_of(*verb));
        }
        throw CLI::CallForVersion(named(kForms, form)(text), 0);
    };
    add_option(*app_, "--manual", "", print)->trigger_on_parse()->group("");
}

void Program::verb(const char* name, const char* what, const char* examples,
                   const std::function<void(Options&)>& declare,
                   const std::function<void(const Options&)>& chosen) {
    CLI::App& verb = *app_->add_subcommand(name, what);
    verb.footer(examples);
    Options options(verb);
    declare(options);
    options.group("");
    add_verbosity(options);
    // CLI11 looks up the variables of all verbs, also of those that are not called.
    verb.preparse_callback([&verb](std::size_t) { name_environment(verb); });
    verb.callback([this, options, chosen] {
        try {
            if (quiet_ && verbose_) throw UsageError("--quiet excludes --verbose");
            chosen(options);
        } catch (const UsageError& error) {
            throw CLI::ValidationError(error.what());
        }
    });
}

std::optional<ExitCode> Program::parse(int argc, const char* const* argv) {
    try {
        for (int i = 1; i < argc; ++i) check_negation(*app_, argv[i]);
        app_->parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            app_->exit(error, std::cout, std::cerr);
            return ExitCode::done;
        }
        const bool value = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
        const std::string hint = value ? "" : verb_hint(*app_, argc, argv);
        std::cerr << "heapwood: error: " << brief(hint.empty() ? error.what() : hint)
                  << "\nRun heapwood with --help for more information.\n";
        return ExitCode::usage;
    }
}

}  // namespace heapwood::app
