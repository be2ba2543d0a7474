#include "app/inputs/matrix_market.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "allocators/measure/adjacency.cuh"
#include "app/base/console.h"
#include "app/base/text.h"
#include "app/inputs/input_lines.h"
#include "scenes/digest.h"
#include "scenes/number.h"

namespace heapwood::app {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// The arrays of larger graphs could have more bytes than allocators::adjacency_bytes() knows.
constexpr std::uint64_t kMostVertices = std::uint64_t{1} << 29;
/// A short file could ask for much memory with more, and nearly all of its vertices would be alone.
constexpr std::uint64_t kMostVerticesPerEntry = 64;

/// The words of a line, up to one more than any line has.
struct Words {
    explicit Words(std::string_view line) {
        constexpr const char* kBlanks = " \t";
        while (count < word.size()) {
            const std::size_t begin = line.find_first_not_of(kBlanks);
            if (begin == std::string_view::npos) return;
            line.remove_prefix(begin);
            const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
            word[count++] = line.substr(0, end);
            line.remove_prefix(end);
        }
    }

    std::array<std::string_view, 6> word;
    std::size_t count = 0;
};

/// Of digits alone. @throws InputError that says what the number is to be.
std::uint64_t number_of(const InputLines& lines, std::string_view word, const char* what) {
    const auto value = scenes::read_number<std::uint64_t>(word);
    if (!value) lines.fail("'" + std::string(word.substr(0, 40)) + "' is no " + what);
    return *value;
}

/// The next line with words, comments left out.
std::optional<Words> next_words(InputLines& lines) {
    while (const auto line = lines.next()) {
        const Words words(*line);
        if (words.count > 0 && words.word[0].front() != '%') return words;
    }
    return std::nullopt;
}

/// What a file says of its entries before them.
struct Header {
    std::size_t numbers =
        0;  ///< of an entry, row and column among them; 0: as many as the first has
    std::uint64_t vertices = 0;
    std::uint64_t entries = 0;
    std::uint64_t line = 0;  ///< of these numbers
};

/// The word of the first line, one of these. @return which.
std::size_t choice(const InputLines& lines, const std::string& word,
                   const std::vector<std::string>& choices) {
    const auto found = std::find(choices.begin(), choices.end(), word);
    if (found == choices.end()) {
        lines.fail("'" + word.substr(0, 40) + "' is none of " + joined(choices, ", "));
    }
    return static_cast<std::size_t>(found - choices.begin());
}

/// How many numbers an entry has, by the kind of its value. 0 for kinds that the format does not
/// know but programs write.
std::size_t numbers_of(std::string_view kind) {
    if (kind == "pattern") return 2;
    if (kind == "complex") return 4;
    return kind == "real" || kind == "integer" ? 3 : 0;
}

Header read_header(InputLines& lines) {
    const std::string first(lines.next().value_or(""));
    const Words words(first);
    std::array<std::string, 5> lower;
    for (std::size_t i = 0; i < std::min(words.count, lower.size()); ++i) {
        lower[i] = words.word[i];
        for (char& c : lower[i]) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    const bool is_banner = lower[0] == "%%matrixmarket" || lower[0] == "%matrixmarket";
    if (words.count != lower.size() || !is_banner || lower[1] != "matrix") {
        lines.fail(
            "the first line of a Matrix Market file is '%%MatrixMarket matrix', its format, the "
            "kind of its values and its symmetry");
    }
    if (choice(lines, lower[2], {"coordinate", "array"}) == 1) {
        lines.fail("a matrix in array format has entries everywhere, and is no graph");
    }
    choice(lines, lower[4], {"general", "symmetric", "skew-symmetric", "hermitian"});

    const auto sizes = next_words(lines);
    if (!sizes || sizes->count != 3) {
        lines.fail(
            "before the entries there is no line with the numbers of rows, columns and "
            "entries");
    }
    std::array<std::uint64_t, 3> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = number_of(lines, sizes->word[i], "number of rows, columns or entries");
    }
    const auto [rows, columns, entries] = numbers;
    if (rows != columns) {
        lines.fail("the matrix of a graph is square, this one has " + grouped(rows) + " rows and " +
                   grouped(columns) + " columns");
    }
    if (rows > kMostVertices) {
        lines.fail("the matrix has more rows than the " + grouped(kMostVertices) +
                   " vertices that a graph may have here");
    }
    if (rows == 0 || entries == 0) lines.fail("the matrix has no entries");
    if (rows / kMostVerticesPerEntry > entries) {
        lines.fail("there are " + grouped(rows) + " rows for " + grouped(entries) +
                   " entries, and may be " + std::to_string(kMostVerticesPerEntry) +
                   " for each: leave out rows without entries");
    }
    return {.numbers = numbers_of(lower[3]),
            .vertices = rows,
            .entries = entries,
            .line = lines.number()};
}

/// Whether a word begins with a number, whatever its exponent is spelt like: 1, -.5, 1.0D+3, nan.
bool begins_with_number(std::string_view word) {
    if (word.starts_with('+')) word.remove_prefix(1);
    double value = 0;
    return std::from_chars(word.data(), word.data() + word.size(), value).ec !=
           std::errc::invalid_argument;
}

Edges read_entries(InputLines& lines, const Header& header) {
    Edges edges;
    std::uint64_t count = 0;
    std::size_t numbers = header.numbers;
    while (const auto words = next_words(lines)) {
        if (numbers == 0) numbers = std::clamp<std::size_t>(words->count, 2, 4);
        if (words->count != numbers) {
            lines.fail("an entry has " + std::to_string(numbers) +
                       " numbers here, row and column first; this line has " +
                       std::to_string(words->count) + " words");
        }
        std::array<std::uint32_t, 2> ends{};
        for (std::size_t i = 0; i < ends.size(); ++i) {
            const std::uint64_t index = number_of(lines, words->word[i], "row or column");
            if (index == 0 || index > header.vertices) {
                lines.fail("row or column " + std::to_string(index) +
                           " is out of range; they are from 1 to " +
                           std::to_string(header.vertices));
            }
            ends[i] = static_cast<std::uint32_t>(index - 1);
        }
        if (!std::all_of(words->word.begin() + 2, words->word.begin() + words->count,
                         begins_with_number)) {
            lines.fail("this is no entry: row and column, then the numbers of its value");
        }
        if (++count > header.entries) {
            lines.fail("more entries than the " + grouped(header.entries) + " that line " +
                       std::to_string(header.line) + " promises");
        }
        edges.emplace_back(ends[0], ends[1]);
    }
    if (count != header.entries) {
        lines.fail("the file ends after " + grouped(count) + " entries, but line " +
                   std::to_string(header.line) + " promises " + grouped(header.entries) +
                   ": it was cut off or changed");
    }
    return edges;
}

}  // namespace

Graph read_matrix_market(const std::string& path) {
    InputLines lines(path, "correct the file, or fetch it again");
    const Header header = read_header(lines);
    Graph graph =
        graph_of(static_cast<std::uint32_t>(header.vertices), read_entries(lines, header));
    if (graph.targets.empty()) lines.fail("the graph has no edge between two vertices");
    return graph;
}

std::string digest(const Graph& graph) {
    scenes::Fnv hash;
    hash.add(graph.vertices());
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) hash.add(graph.degree(v));
    for (const std::uint32_t target : graph.targets) hash.add(target);
    return hex(hash.value());
}

GraphFile facts_of(const Graph& graph, const std::string& path) {
    GraphFile file{.path = path,
                   .digest = digest(graph),
                   .vertices = graph.vertices(),
                   .edges = graph.targets.size() / 2};
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
        file.greatest_degree = std::max(file.greatest_degree, graph.degree(v));
        file.array_bytes += allocators::adjacency_bytes(graph.degree(v));
    }
    return file;
}

GraphFile read_graph(const std::string& path) {
    show_progress("reading " + path);
    const auto start = std::chrono::steady_clock::now();
    GraphFile file = facts_of(read_matrix_market(path), path);
    const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - start;
    file.seconds = reading.count();
    return file;
}

}  // namespace heapwood::app
