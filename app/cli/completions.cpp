#include <string_view>

#include "app/base/text.h"
#include "app/cli/manual.h"

namespace heapwood::app {
namespace {

/// All characters of `these` with `before` in front.
std::string escaped(const std::string& text, std::string_view these, const std::string& before) {
    std::string out;
    for (const char c : text) {
        if (these.find(c) != these.npos) out += before;
        out += c;
    }
    return out;
}

std::vector<std::string> names_of(const std::vector<OptionText>& options) {
    std::vector<std::string> names;
    for (const OptionText& option : options) {
        if (!option.is_word()) names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return names;
}

std::vector<std::string> names_of(const std::vector<VerbText>& verbs) {
    std::vector<std::string> names;
    for (const VerbText& verb : verbs) names.push_back(verb.name);
    return names;
}

/// As bash has it in a `case`: what may follow a verb, and an option of it.
std::string bash_case(const VerbText& verb, const std::string& key,
                      const std::vector<std::string>& more) {
    std::vector<std::string> words = names_of(verb.options);
    words.insert(words.end(), more.begin(), more.end());
    std::string text = "        " + key + ")\n            words='" + joined(words, " ") +
                       "'\n            case $previous in\n";
    for (const OptionText& option : verb.options) {
        if (option.type.empty() || option.is_word()) continue;
        text += "                " + joined(option.names, "|") + ") words='" +
                joined(option.choices(), " ") + "' ;;\n";
    }
    return text + "            esac\n            ;;\n";
}

/// As zsh's _arguments has it, one line for each name.
std::string zsh_specifications(const std::vector<OptionText>& options) {
    std::string text;
    for (const OptionText& option : options) {
        const std::string what = escaped(escaped(option.what, "\\[]:", "\\"), "'", "'\\'");
        std::string value;
        if (!option.type.empty()) {
            const std::vector<std::string> choices = option.choices();
            value = ":" + escaped(option.type, ":", "\\") + ":" +
                    (!choices.empty()        ? "(" + joined(choices, " ") + ")"
                     : option.type == "FILE" ? "_files"
                                             : " ");
        }
        for (const std::string& name : option.names) {
            if (!option.is_word())
                text += " \\\n                '" + name + "[" + what + "]" + value + "'";
        }
    }
    return text;
}

std::string fish_lines(const VerbText& verb, const std::string& condition) {
    std::string text;
    for (const OptionText& option : verb.options) {
        if (option.is_word()) continue;
        text += "complete -c heapwood -n '" + condition + "'";
        for (const std::string& name : option.names) {
            text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        }
        const std::vector<std::string> choices = option.choices();
        if (!option.type.empty()) text += option.type == "FILE" ? " -r -F" : " -x";
        if (!choices.empty()) text += " -a '" + joined(choices, " ") + "'";
        text += " -d '" + escaped(option.what, "\\'", "\\") + "'\n";
    }
    return text;
}

}  // namespace

std::string bash_completion(const ProgramText& text) {
    std::string cases = bash_case(text.program, "''", names_of(text.verbs));
    for (const VerbText& verb : text.verbs) cases += bash_case(verb, verb.name, {});
    return "# bash completion of heapwood; files are completed where no word fits\n"
           "_heapwood() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local verb= word words=\n"
           "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
           "        [[ $word == -* ]] || { verb=$word; break; }\n"
           "    done\n"
           "    case $verb in\n" +
           cases +
           "    esac\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
           "}\n"
           "complete -o default -F _heapwood heapwood\n";
}

std::string zsh_completion(const ProgramText& text) {
    std::string verbs;
    std::string cases;
    for (const VerbText& verb : text.verbs) {
        verbs += " \\\n                '" + verb.name + ":" + escaped(verb.what, "'", "'\\'") + "'";
        cases += "        " + verb.name + ")\n            _arguments" +
                 zsh_specifications(verb.options) +
                 " \\\n                '*:file:_files'\n            ;;\n";
    }
    return "#compdef heapwood\n"
           "_heapwood() {\n"
           "    local context state state_descr line verbs\n"
           "    typeset -A opt_args\n"
           "    _arguments -C" +
           zsh_specifications(text.program.options) +
           " \\\n                '1:verb:->verb' '*::argument:->argument' && return\n"
           "    if [[ $state == verb ]]; then\n"
           "        verbs=(" +
           verbs +
           ")\n        _describe verb verbs\n        return\n    fi\n"
           "    case $words[1] in\n" +
           cases + "    esac\n}\n_heapwood \"$@\"\n";
}

std::string fish_completion(const ProgramText& text) {
    const std::string no_verb =
        "not __fish_seen_subcommand_from " + joined(names_of(text.verbs), " ");
    std::string lines = "# fish completion of heapwood\n" + fish_lines(text.program, no_verb);
    for (const VerbText& verb : text.verbs) {
        lines += "complete -c heapwood -n '" + no_verb + "' -f -a " + verb.name + " -d '" +
                 escaped(verb.what, "\\'", "\\") + "'\n" +
                 fish_lines(verb, "__fish_seen_subcommand_from " + verb.name);
    }
    return lines;
}

}  // namespace heapwood::app
