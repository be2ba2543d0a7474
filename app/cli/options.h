/// @file
/// How verbs declare their options. The library that reads command lines stays behind this header.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/base/exit_code.h"
#include "app/base/text.h"
#include "app/cli/manual.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace heapwood::app {

struct Flags;

/// The whole numbers that an option takes.
struct Whole {
    std::uint64_t least = 0;
    std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    bool or_zero = false;  ///< 0, too
};

/// The numbers that an option takes: from `least`, or above it if `open`.
struct Real {
    float least = 0;
    bool open = false;
    float most = std::numeric_limits<float>::max();
};

/// The number that is written in digits alone: -1 and 010 are none. @throws UsageError.
std::uint64_t read(const std::string& text, const Whole& allowed);

/// The finite number. @throws UsageError.
template <class T>
T read(const std::string& text, const Real& allowed);

/// A number of bytes with a unit. @throws UsageError, which shows the example.
std::uint64_t read_bytes(const std::string& text, const Whole& allowed,
                         const char* example = "64KiB");

/// Stands for a number that is not given, so that its default holds.
inline constexpr const char* kAuto = "auto";

/// What `text` names in a map. @throws UsageError.
template <class Map>
typename Map::mapped_type named(const Map& map, const std::string& text) {
    const auto found = map.find(text);
    if (found != map.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, value] : map) names.push_back(name);
    throw UsageError("'" + text + "' is none of " + joined(names, ", "));
}

/// Which builds an option has an effect on, where that is not all of them.
enum class Builds {
    with_allocator,  ///< those of the single kernel that are not in parts
    whole,           ///< those that are not in parts
};

/// The options of a verb. What a verb's variables hold when an option is declared is its default;
/// they are set in the order of the declarations, whatever that of the command line. A name is
/// "--long", "-s,--long", or NAME of something that has to be there.
class Options {
public:
    /// Checks and stores a value. @throws UsageError, to which the option's name is added.
    using Take = std::function<void(const std::string&)>;
    using TakeList = std::function<void(const std::vector<std::string>&)>;

    explicit Options(CLI::App& verb);

    /// The heading in the help of the options from here on; empty: the usual one.
    void group(const char* heading) { group_ = heading; }

    /// A word, or words, that have to be there.
    void text(const char* name, std::string& value, const char* what);
    void texts(const char* name, std::vector<std::string>& values, const char* what);

    /// Something that is so or not: "--clip,!--no-clip" has a name for each. Takes a value, too:
    /// --clip=off. Returns this, as all that follow.
    Options& flag(const char* name, bool& value, const char* what);

    /// A file for something that standard output is not for; `refusal` says why.
    Options& file(const char* name, std::string& path, const char* what,
                  const char* refusal = nullptr);

    /// @param type stands for the value in the help, `standard` for the default
    Options& value(const char* name, const char* type, const std::string& standard,
                   const char* what, const Take& take);

    /// Items with commas between them.
    Options& list(const char* name, const char* type, const std::string& standard, const char* what,
                  const TakeList& take);

    /// A whole number; or one whose default, auto, follows from others.
    template <class T>
    Options& whole(const char* name, T& value, const Whole& allowed, const char* what) {
        return this->value(name, "N", std::to_string(value), what,
                           [&value, allowed](const std::string& text) {
                               if (text != kAuto) value = static_cast<T>(read(text, allowed));
                           });
    }
    template <class T>
    Options& whole(const char* name, std::optional<T>& value, const Whole& allowed,
                   const char* what) {
        return this->value(name, "N", kAuto, what, [&value, allowed](const std::string& text) {
            if (text != kAuto) value = static_cast<T>(read(text, allowed));
        });
    }

    /// A float or double.
    template <class T>
    Options& real(const char* name, T& value, const Real& allowed, const char* what,
                  const char* type = "N") {
        return this->value(name, type, shortest(value), what,
                           [&value, allowed](const std::string& text) {
                               if (text != kAuto) value = read<T>(text, allowed);
                           });
    }

    /// Says of the option before that it is for these builds alone.
    Options& only_for(Builds builds);

    /// What gave the option of that long name a value, for messages: "--pool", or, if its variable
    /// did, "--pool (HEAPWOOD_POOL)"; empty: it has its default.
    std::string giver(const char* name) const;
    /// The same of each option that is for these builds alone, in the order of the declarations.
    std::vector<std::string> givers(Builds builds) const;
    /// The verb's name.
    std::string verb() const;

private:
    struct Declared {
        std::string name;  ///< the long one
        std::optional<Builds> builds = std::nullopt;
    };

    /// Puts an option that has these names into its group and into the list.
    Options& declare(CLI::Option* option, const std::string& names);

    CLI::App& verb_;
    std::string group_;
    std::vector<Declared> declared_;
    std::shared_ptr<Flags> flags_;  ///< for the library, which refers to them
};

/// The command line of the program: options of its own, and verbs, of which it has one.
class Program {
public:
    /// @param examples what the help ends with; as for verbs
    Program(const char* what, const std::string& version, const char* examples);
    ~Program();

    /// Adds a verb, which `declare` gives its options. @param chosen is called after all options of
    /// a command line with this verb are stored
    void verb(const char* name, const char* what, const char* examples,
              const std::function<void(Options&)>& declare,
              const std::function<void(const Options&)>& chosen);

    /// Reads the command line and the HEAPWOOD_* environment; the command line wins. Answers help,
    /// --version and mistakes itself. @return the exit code if it did; nothing: a verb was chosen
    std::optional<ExitCode> parse(int argc, const char* const* argv);

    /// -1 quiet, 0 normal, 1 verbose.
    int verbosity() const { return quiet_ ? -1 : int{verbose_}; }

private:
    void add_verbosity(Options& options);
    void add_manual();

    std::unique_ptr<CLI::App> app_;
    std::unique_ptr<Options> own_;  ///< those before the verb
    bool quiet_ = false;
    bool verbose_ = false;
};

}  // namespace heapwood::app
