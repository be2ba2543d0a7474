#include "app/measure/matrix_market.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "allocators/measure/adjacency.cuh"
#include "app/base/console.h"
#include "app/base/text.h"
#include "app/measure/input_lines.h"
#include "scenes/digest.h"

#if HEAPWOOD_HAS_CHOLMOD
#include <cholmod.h>
#endif

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
    std::uint64_t value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stop != end) {
        lines.fail("'" + std::string(word.substr(0, 40)) + "' is no " + what);
    }
    return value;
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
    std::string banner;     ///< the first line
    std::size_t words = 0;  ///< of an entry
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

Header read_header(InputLines& lines) {
    const std::string first(lines.next().value_or(""));
    const Words words(first);
    std::array<std::string, 5> lower;
    for (std::size_t i = 0; i < std::min(words.count, lower.size()); ++i) {
        lower[i] = words.word[i];
        for (char& c : lower[i]) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    if (words.count != lower.size() || lower[0] != "%%matrixmarket" || lower[1] != "matrix") {
        lines.fail(
            "the first line of a Matrix Market file is '%%MatrixMarket matrix', its format, the "
            "kind of its values and its symmetry");
    }
    if (choice(lines, lower[2], {"coordinate", "array"}) == 1) {
        lines.fail("a matrix in array format has entries everywhere, and is no graph");
    }
    constexpr std::array<std::size_t, 4> kNumbers{0, 1, 1, 2};
    const std::size_t kind = choice(lines, lower[3], {"pattern", "real", "integer", "complex"});
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
    return {.banner = joined({lower.begin(), lower.end()}, " "),
            .words = 2 + kNumbers[kind],
            .vertices = rows,
            .entries = entries,
            .line = lines.number()};
}

#if HEAPWOOD_HAS_CHOLMOD

/// Lets CHOLMOD read entries, some at a time.
class Entries {
public:
    Entries(const InputLines& lines, const Header& header)
        : lines_(lines),
          header_(header),
          // CHOLMOD makes room for all vertices: not before there are entries for so many.
          piece_(std::max(std::uint64_t{1} << 16, header.vertices / kMostVerticesPerEntry)) {
        cholmod_l_start(&common_);
        common_.print = 0;  // it would write to standard output
    }
    ~Entries() { cholmod_l_finish(&common_); }
    Entries(const Entries&) = delete;
    Entries& operator=(const Entries&) = delete;

    void add(const Words& words) {
        constexpr std::size_t kLongest = 1000;  // CHOLMOD has room for little more
        const std::size_t begin = text_.size();
        for (std::size_t i = 0; i < words.count; ++i) text_.append(words.word[i]).append(1, ' ');
        text_.back() = '\n';
        if (text_.size() - begin > kLongest) lines_.fail("a line is too long");
        pending_.push_back({begin, lines_.number()});
        if (pending_.size() == piece_) read_pending();
    }
    /// All edges, once all entries were added.
    Edges take() {
        if (!pending_.empty()) read_pending();
        return std::move(edges_);
    }

private:
    struct Line {
        std::size_t begin;  ///< in the text
        std::uint64_t number;
    };

    void read_pending() {
        if (!read(text_, pending_.size())) {
            // It does not say where: in the first line that it cannot read alone.
            const std::string_view text = text_;
            std::size_t i = 0;
            while (i + 1 < pending_.size() &&
                   read(text.substr(pending_[i].begin, pending_[i + 1].begin - pending_[i].begin),
                        1)) {
                ++i;
            }
            lines_.fail("this is no entry: row and column, then the numbers of its value",
                        pending_[i].number);
        }
        text_.clear();
        pending_.clear();
    }

    /// @return whether so many entries could be read. @throws std::bad_alloc.
    bool read(std::string_view entries, std::size_t count) {
        const std::string size = std::to_string(header_.vertices) + " ";
        std::string matrix = header_.banner + "\n" + size + size + std::to_string(count + 1) + "\n";
        // By its first entry CHOLMOD decides how many numbers all have: a self loop, for that.
        for (std::size_t i = 0; i < header_.words; ++i) matrix += "1 ";
        matrix.append("\n").append(entries);
        std::FILE* file = fmemopen(matrix.data(), matrix.size(), "r");
        if (file == nullptr) throw std::bad_alloc();
        cholmod_triplet* triplet = cholmod_l_read_triplet(file, &common_);
        std::fclose(file);
        if (common_.status == CHOLMOD_OUT_OF_MEMORY) throw std::bad_alloc();
        if (triplet == nullptr) return false;
        const auto* rows = static_cast<const std::int64_t*>(triplet->i);
        const auto* columns = static_cast<const std::int64_t*>(triplet->j);
        for (std::size_t i = 0; i < triplet->nnz; ++i) {
            edges_.emplace_back(static_cast<std::uint32_t>(rows[i]),
                                static_cast<std::uint32_t>(columns[i]));
        }
        cholmod_l_free_triplet(&triplet, &common_);
        return true;
    }

    const InputLines& lines_;
    const Header& header_;
    std::size_t piece_;  ///< how many entries are read together
    cholmod_common common_{};
    std::string text_;           ///< entries that were not read yet
    std::vector<Line> pending_;  ///< likewise
    Edges edges_;
};

Edges read_entries(InputLines& lines, const Header& header) {
    Entries entries(lines, header);
    std::uint64_t count = 0;
    while (const auto words = next_words(lines)) {
        if (words->count != header.words) {
            lines.fail("an entry has " + std::to_string(header.words) +
                       " numbers here, row and column first; this line has " +
                       std::to_string(words->count) + " words");
        }
        for (std::size_t i = 0; i < 2; ++i) {
            const std::uint64_t index = number_of(lines, words->word[i], "row or column");
            if (index == 0 || index > header.vertices) {
                lines.fail("row or column " + std::to_string(index) +
                           " is out of range; they are from 1 to " +
                           std::to_string(header.vertices));
            }
        }
        if (++count > header.entries) {
            lines.fail("more entries than the " + grouped(header.entries) + " that line " +
                       std::to_string(header.line) + " promises");
        }
        entries.add(*words);
    }
    if (count != header.entries) {
        lines.fail("the file ends after " + grouped(count) + " entries, but line " +
                   std::to_string(header.line) + " promises " + grouped(header.entries) +
                   ": it was cut off or changed");
    }
    return entries.take();
}

#else

Edges read_entries(InputLines&, const Header&) {
    throw InputError(
        "this program was built without CHOLMOD, which reads Matrix Market files; install it "
        "(Debian: libsuitesparse-dev) and build the program anew");
}

#endif

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
