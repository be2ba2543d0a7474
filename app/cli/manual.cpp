#include "app/cli/manual.h"

#include <sstream>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// Text that roff takes as it is.
std::string roff(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '\\') {
            escaped += "\\e";
        } else if (c == '-') {
            escaped += "\\-";
        } else {
            // A dot or a quote is a request where a line begins.
            if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) {
                escaped += "\\&";
            }
            escaped += c;
        }
    }
    return escaped;
}

std::string bold(const std::string& text) {
    return "\\fB" + roff(text) + "\\fR";
}

std::string paragraph(const OptionText& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back(bold(name));
    std::string text = ".TP\n" + joined(names, ", ");
    if (!option.type.empty()) text += " \\fI" + roff(option.type) + "\\fR";
    text += "\n" + roff(option.what);
    std::vector<std::string> notes;
    if (!option.standard.empty()) notes.push_back("default: " + option.standard);
    if (!option.environment.empty()) notes.push_back("environment: " + option.environment);
    if (!notes.empty()) text += roff(" (" + joined(notes, "; ") + ")");
    return text + "\n";
}

std::string paragraphs(const std::vector<OptionText>& options) {
    std::string text;
    for (const OptionText& option : options) text += paragraph(option);
    return text;
}

/// Examples and remarks as they stand.
std::string as_it_stands(const std::string& text) {
    return ".PP\n.nf\n" + roff(text) + "\n.fi\n";
}

}  // namespace

std::vector<std::string> OptionText::choices() const {
    std::vector<std::string> all;
    std::istringstream words(type);
    for (std::string word; type.find('|') != type.npos && std::getline(words, word, '|');) {
        all.push_back(word);
    }
    return all;
}

std::string manual_page(const ProgramText& text) {
    const VerbText& program = text.program;
    std::string page = ".TH HEAPWOOD 1 \"\" \"" + roff(text.version) + "\"\n.SH NAME\n" +
                       roff(program.name + " - ") + roff(program.what) + "\n.SH SYNOPSIS\n" +
                       bold(program.name) +
                       " [\\fIoption\\fR...] \\fIverb\\fR [\\fIargument\\fR...]\n" +
                       ".SH OPTIONS\n" + paragraphs(program.options) + ".SH VERBS\n";
    for (const VerbText& verb : text.verbs) {
        std::string words;
        for (const OptionText& option : verb.options) {
            if (option.is_word()) words += " \\fI" + roff(option.names.front()) + "\\fR";
        }
        page += ".SS " + bold(verb.name) + " [\\fIoption\\fR...]" + words + "\n" + roff(verb.what) +
                ".\n" + paragraphs(verb.options) + as_it_stands(verb.footer);
    }
    return page + ".SH EXAMPLES AND EXIT CODES\n" + as_it_stands(program.footer);
}

}  // namespace heapwood::app
