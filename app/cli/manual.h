/// @file
/// What is written of the command line from its own description: a manual page, and what shells
/// need to complete it.
#pragma once

#include <string>
#include <vector>

namespace heapwood::app {

/// An option, or a word that has to be there.
struct OptionText {
    std::vector<std::string> names;  ///< "-p", "--pool"; of a word "SCENE"
    std::string type;                ///< "SIZE", "FILE", "on|off"; empty: has no value
    std::string standard;            ///< the default
    std::string what;
    std::string environment;  ///< the variable that sets it, too

    bool is_word() const { return names.front().front() != '-'; }
    /// What its value is one of; nothing if that is anything.
    std::vector<std::string> choices() const;
};

/// A verb, or the program itself.
struct VerbText {
    std::string name;
    std::string what;
    std::string footer;  ///< what its help ends with
    std::vector<OptionText> options;
};

/// The whole command line.
struct ProgramText {
    VerbText program;
    std::string version;
    std::vector<VerbText> verbs;
};

/// Section 1 of the manual, for man.
std::string manual_page(const ProgramText& text);

/// Completion of options, their values, verbs and files.
std::string bash_completion(const ProgramText& text);
std::string zsh_completion(const ProgramText& text);
std::string fish_completion(const ProgramText& text);

}  // namespace heapwood::app
