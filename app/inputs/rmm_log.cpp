#include "app/inputs/rmm_log.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "app/base/json.h"
#include "app/base/text.h"
#include "scenes/number.h"

namespace heapwood::app {
namespace {

/// An event as its line has it.
struct Row {
    std::string_view thread, time, action, pointer, size, stream;
};

std::optional<Row> row_of(std::string_view line) {
    std::array<std::string_view, 6> fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::size_t end = line.find(',');
        const bool last = i + 1 == fields.size();
        if ((end == std::string_view::npos) != last) return std::nullopt;
        fields[i] = line.substr(0, end);
        line.remove_prefix(last ? line.size() : end + 1);
    }
    return Row{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]};
}

/// As C's printf writes pointers.
std::optional<std::uint64_t> address_of(std::string_view text) {
    if (text == "(nil)") return 0;
    if (text.starts_with("0x")) text.remove_prefix(2);
    return scenes::read_number<std::uint64_t>(text, 16);
}

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kDay = 86'400 * kSecond;

/// Nanoseconds since midnight of HH:MM:SS.F, with one to nine digits behind the point or without
/// both; older logs have a colon for the point.
std::optional<std::uint64_t> time_of_day(std::string_view text) {
    constexpr std::array<std::uint64_t, 3> kEnds{24, 60, 61};  // a second may be inserted
    std::uint64_t seconds = 0;
    for (std::size_t i = 0; i < kEnds.size(); ++i) {
        const auto part = scenes::read_number<std::uint64_t>(text.substr(0, 2));
        if (text.size() < 2 || !part || *part >= kEnds[i]) return std::nullopt;
        seconds = seconds * 60 + *part;
        text.remove_prefix(2);
        if (i + 1 == kEnds.size()) break;
        if (!text.starts_with(':')) return std::nullopt;
        text.remove_prefix(1);
    }
    if (text.empty()) return seconds * kSecond;
    if (text.front() != '.' && text.front() != ':') return std::nullopt;
    text.remove_prefix(1);
    const auto part = scenes::read_number<std::uint64_t>(text);
    if (!part || text.size() > 9) return std::nullopt;
    std::uint64_t unit = kSecond;
    for (std::size_t i = 0; i < text.size(); ++i) unit /= 10;
    return seconds * kSecond + *part * unit;
}

/// Times of day, in the order of a log, as one time that never goes back.
class LogClock {
public:
    /// Nanoseconds since the first line. A thread may write its line after one that is younger.
    std::uint64_t at(std::uint64_t time_of_day) {
        if (!latest_) latest_ = time_of_day;
        const std::uint64_t ahead = (time_of_day + 2 * kDay - *latest_) % kDay;
        if (ahead < kDay / 2) {
            elapsed_ += ahead;
            latest_ = time_of_day;
        }
        return elapsed_;
    }

private:
    std::optional<std::uint64_t> latest_;
    std::uint64_t elapsed_ = 0;
};

/// Takes the events of a log, and refuses those that contradict the others.
class LogCollector {
public:
    explicit LogCollector(const InputLines& lines) : lines_(lines) {}

    void add(const Row& row) {
        const auto time = time_of_day(row.time);
        if (!time) {
            lines_.fail("'" + std::string(row.time) +
                        "' is no time of day, such as 15:47:02.841961");
        }
        now_ = clock_.at(*time);
        const auto size = scenes::read_number<std::uint64_t>(row.size);
        const auto address = address_of(row.pointer);
        if (!size) lines_.fail("'" + std::string(row.size) + "' is no number of bytes");
        if (!address) lines_.fail("'" + std::string(row.pointer) + "' is no address");
        threads_.emplace(row.thread);
        streams_.emplace(row.stream);
        if (row.action == "allocate failure") {
            ++failed_;
        } else if (row.action == "allocate") {
            allocate(row, *address, *size);
        } else if (row.action == "free" || row.action == "deallocate") {
            free(row, *address, *size);
        } else {
            lines_.fail("'" + std::string(row.action) +
                        "' is no action; there are allocate, free and allocate failure");
        }
    }

    /// The trace, once all lines have been read.
    TraceFile take() {
        if (requests_ == 0) lines_.fail("the log has no request that was granted");
        TraceFile file;
        const std::uint64_t first = trace_.times.front();
        for (std::uint64_t& time : trace_.times) time -= first;
        trace_.callers = static_cast<std::uint32_t>(callers_.size());
        file.trace = std::move(trace_);
        const allocators::TraceFacts facts = allocators::facts(file.trace);
        file.root_bytes = facts.peak_bytes;
        file.header = Json{{"kind", "rmm"},
                           {"recorded", recorded()},
                           {"callers", file.trace.callers},
                           {"requests", facts.requests},
                           {"frees", facts.frees},
                           {"threads", threads_.size()},
                           {"streams", streams_.size()},
                           {"failed_requests", failed_},
                           {"empty_calls", empty_},
                           {"root_bytes", file.root_bytes}}
                          .dump();
        return file;
    }

private:
    struct Block {
        std::uint32_t number;
        std::uint64_t bytes;
        std::uint64_t line;
    };

    void allocate(const Row& row, std::uint64_t address, std::uint64_t bytes) {
        if (bytes == 0) {
            ++empty_;
            return;
        }
        if (bytes > allocators::kMostTraceBytes - requested_) {
            lines_.fail("with this request all together have more bytes than " +
                        grouped(allocators::kMostTraceBytes));
        }
        if (requests_ == allocators::kMostTraceRequests) {
            lines_.fail("more requests than the " + grouped(allocators::kMostTraceRequests) +
                        " that a trace can have");
        }
        const auto [block, fresh] =
            live_.try_emplace(address, Block{requests_, bytes, lines_.number()});
        if (!fresh) {
            lines_.fail("address " + std::string(row.pointer) + " is given out, which line " +
                        std::to_string(block->second.line) + " has got and nobody has freed");
        }
        const std::uint64_t rounded = (bytes + 3) / 4 * 4;
        add_call({caller(row), requests_, rounded});
        requested_ += rounded;
        ++requests_;
    }

    void free(const Row& row, std::uint64_t address, std::uint64_t bytes) {
        if (address == 0 || bytes == 0) {
            ++empty_;
            return;
        }
        const auto block = live_.find(address);
        if (block == live_.end()) {
            lines_.fail("a free of address " + std::string(row.pointer) +
                        ", which is not given out here");
        }
        if (block->second.bytes != bytes) {
            lines_.fail("a free of " + std::to_string(bytes) + " bytes at " +
                        std::string(row.pointer) + ", where line " +
                        std::to_string(block->second.line) + " has got " +
                        std::to_string(block->second.bytes));
        }
        add_call({caller(row), block->second.number, 0});
        live_.erase(block);
    }

    void add_call(const allocators::TraceEvent& event) {
        trace_.events.push_back(event);
        trace_.times.push_back(now_);
    }

    std::uint32_t caller(const Row& row) {
        const auto next = static_cast<std::uint32_t>(callers_.size());
        return callers_.try_emplace({std::string(row.thread), std::string(row.stream)}, next)
            .first->second;
    }

    std::string recorded() const {
        const auto of = [](std::uint64_t n, const char* one) {
            return grouped(n) + " " + one + (n == 1 ? "" : "s");
        };
        std::string text =
            "by RMM: " + of(threads_.size(), "thread") + ", " + of(streams_.size(), "stream");
        if (failed_ > 0) text += "; " + of(failed_, "request") + " failed, not replayed";
        if (empty_ > 0) text += "; " + of(empty_, "call") + " for nothing, not replayed";
        return text;
    }

    const InputLines& lines_;
    allocators::Trace trace_;
    LogClock clock_;
    std::uint64_t now_ = 0;  ///< of the line
    std::uint32_t requests_ = 0;
    std::uint64_t requested_ = 0;  ///< bytes
    std::uint64_t failed_ = 0;
    std::uint64_t empty_ = 0;
    std::set<std::string, std::less<>> threads_;
    std::set<std::string, std::less<>> streams_;
    std::map<std::pair<std::string, std::string>, std::uint32_t> callers_;
    std::unordered_map<std::uint64_t, Block> live_;  ///< by address
};

}  // namespace

bool is_rmm_log(std::string_view first_line) {
    if (first_line == kLogColumns) return true;
    const auto row = row_of(first_line);
    return row && time_of_day(row->time) && scenes::read_number<std::uint64_t>(row->size) &&
           address_of(row->pointer);
}

TraceFile read_rmm_log(InputLines& lines, const std::string& first_line) {
    lines.set_remedy(
        "correct the log, or record it anew from the program's start, and flush it at the end");
    LogCollector collector(lines);
    std::optional<std::string_view> line = first_line;
    if (first_line == kLogColumns) line = lines.next();
    for (; line; line = lines.next()) {
        const auto row = row_of(*line);
        if (!row) lines.fail("this is no event; events are " + std::string(kLogColumns));
        collector.add(*row);
    }
    return collector.take();
}

}  // namespace heapwood::app
