#include "app/measure/shard_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>

#include "app/base/text.h"
#include "app/measure/result_json.h"
#include "scenes/byte_source.h"

namespace heapwood::app {

HEAPWOOD_JSON_OF(Machine, gpu, name, units, driver, runtime, memory, architecture)

namespace {

/// The version of app/report/schemas/shard.schema.json; a reader may rely on it.
constexpr int kShardSchema = 1;

/// Options whose values are those of one shard.
constexpr std::string_view kOwn[] = {"--shard", "--json", "--resume"};

constexpr const char* kRemedy =
    "copy it again from where it was written, or leave it out: then its shard's command line is "
    "told";

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// A word as a shell reads it.
std::string quoted(const std::string& word) {
    const auto harmless = [](unsigned char c) {
        return std::isalnum(c) != 0 || std::strchr("-_=./:,+@%", c) != nullptr;
    };
    if (!word.empty() && std::all_of(word.begin(), word.end(), harmless)) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

/// @throws scenes::SceneError.
std::string text_of(const std::string& path) {
    constexpr std::size_t kChunk = std::size_t{1} << 20;
    const std::unique_ptr<scenes::ByteSource> source = scenes::open_source(path);
    std::string text;
    for (std::size_t size = 0;;) {
        text.resize(size + kChunk);
        const std::size_t count = source->read(text.data() + size, kChunk);
        size += count;
        if (count > 0) continue;
        text.resize(size);
        return text;
    }
}

Json parsed(const std::string& path) {
    const std::string text = text_of(path);
    Json json = parsed_json(text);
    const Json kind = json.is_object() ? json.value("kind", Json()) : Json();
    if (json.is_discarded()) throw damaged_shard_file(path, "it is no JSON", kRemedy);
    if (kind != "shard") {
        throw ShardFileError("'" + path +
                             "' is no shard file of a run: shard files are written by 'heapwood "
                             "compare|bench|replay ... --shard I/N --json FILE'");
    }
    if (json.value("schema", Json()) != kShardSchema) {
        throw ShardFileError("'" + path + "' has another schema than " +
                             std::to_string(kShardSchema) +
                             ": merge with the program that wrote it");
    }
    return json;
}

}  // namespace

std::vector<std::string> ShardFile::common_arguments() const {
    std::vector<std::string> common;
    bool options = true;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (word == "--") options = false;
        const auto* own =
            std::find_if(std::begin(kOwn), std::end(kOwn), [&](std::string_view name) {
                return options && word.starts_with(name) &&
                       (word.size() == name.size() || word[name.size()] == '=');
            });
        if (own == std::end(kOwn)) {
            common.push_back(word);
        } else if (word.size() == own->size()) {
            ++i;  // its value
        }
    }
    return common;
}

std::string ShardFile::command(const std::vector<std::string>& options) const {
    std::vector<std::string> words;
    for (const auto& [name, value] : environment) words.push_back(name + "=" + quoted(value));
    std::vector<std::string> call = common_arguments();
    // Behind the verb, for behind a -- they would be names of scenes.
    const auto verb = std::find(call.begin(), call.end(), run.value("kind", ""));
    call.insert(verb == call.end() ? verb : verb + 1, options.begin(), options.end());
    for (const std::string& word : call) words.push_back(quoted(word));
    return joined(words, " ");
}

std::string ShardFile::command_of(unsigned number) const {
    const std::string n = std::to_string(number);
    const std::string of = std::to_string(shard.of);
    return command({"--shard", n + "/" + of, "--json", "shard-" + n + "-of-" + of + ".json"});
}

std::map<std::string, std::string> run_variables() {
    std::map<std::string, std::string> found;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t end = text.find('=');
        const std::string name(text.substr(0, end));
        const bool own =
            name == "HEAPWOOD_SHARD" || name == "HEAPWOOD_JSON" || name == "HEAPWOOD_RESUME";
        if (name.starts_with("HEAPWOOD_") && !own && end != text.npos) {
            found[name] = text.substr(end + 1);
        }
    }
    return found;
}

ShardFileError damaged_shard_file(const std::string& path, const std::string& why,
                                  const std::string& remedy) {
    // The JSON library begins with the name of its exception.
    const std::size_t name = why.starts_with("[json.") ? why.find("] ") : why.npos;
    return ShardFileError("'" + path + "' is damaged: " +
                          (name == why.npos ? why : why.substr(name + 2)) + "; " + remedy);
}

ShardFile new_shard_file(const Shard& shard, const std::vector<std::string>& arguments,
                         const Machine& machine, const Json& run) {
    Json provenance = origin_json(arguments, machine);
    provenance["host"] = host_name();
    provenance["date"] = run.at("date");
    return {.path = "",
            .shard = shard,
            .arguments = arguments,
            .environment = run_variables(),
            .machine = machine,
            .provenance = provenance,
            .run = run,
            .input = {},
            .turns = {}};
}

Json shard_file_json(const ShardFile& file) {
    return {{"schema", kShardSchema},        {"kind", "shard"},
            {"shard", file.shard},           {"complete", file.complete},
            {"provenance", file.provenance}, {"environment", file.environment},
            {"machine", file.machine},       {"run", file.run},
            {"input", file.input},           {"turns", file.turns}};
}

ShardFile read_shard_file(const std::string& path) {
    const Json json = parsed(path);
    try {
        ShardFile file;
        file.path = path;
        json.at("shard").get_to(file.shard);
        json.at("complete").get_to(file.complete);
        file.provenance = json.at("provenance");
        file.provenance.at("arguments").get_to(file.arguments);
        json.at("environment").get_to(file.environment);
        json.at("machine").get_to(file.machine);
        file.run = json.at("run");
        file.input = json.at("input");
        json.at("turns").get_to(file.turns);
        if (file.shard.number < 1 || file.shard.number > file.shard.of || file.arguments.empty() ||
            !file.run.is_object() || !file.run.contains("date") || !file.run.contains("adopted")) {
            throw std::invalid_argument("a shard of no run");
        }
        return file;
    } catch (const std::exception& error) {
        throw damaged_shard_file(path, error.what(), kRemedy);
    }
}

}  // namespace heapwood::app
