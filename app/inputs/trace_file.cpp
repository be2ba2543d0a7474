#include "app/inputs/trace_file.h"

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "app/base/json.h"
#include "app/base/text.h"
#include "app/inputs/rmm_log.h"
#include "scenes/digest.h"
#include "scenes/number.h"

namespace heapwood::app {
namespace {

constexpr int kSchema = 1;
constexpr const char* kColumns = "op,caller,value";

/// What the first line must say.
struct Header {
    std::uint64_t callers = 0;
    std::uint64_t requests = 0;
    std::uint64_t frees = 0;
    std::uint64_t root_bytes = 0;
};

Header header(const InputLines& lines, std::string_view line) {
    const Json json = parsed_json(line);
    if (!json.is_object() || json.value("kind", Json()) != "trace") {
        lines.fail("this is not the header of a trace, nor of a log of RMM, " +
                   std::string(kLogColumns));
    }
    const Json schema = json.value("schema", Json());
    if (schema != kSchema) {
        lines.fail("the trace has version " + dumped(schema) + ", this program reads version " +
                   std::to_string(kSchema) + ": use the program that wrote it");
    }
    const auto number = [&](const char* name, std::uint64_t least, std::uint64_t most) {
        const Json value = json.value(name, Json());
        if (!value.is_number_unsigned() || value < least || value > most) {
            lines.fail(std::string("the header's '") + name + "' is not a number from " +
                       std::to_string(least) + " to " + std::to_string(most));
        }
        return value.get<std::uint64_t>();
    };
    const std::uint64_t most = allocators::kMostTraceRequests;
    return {.callers = number("callers", 1, std::uint64_t{1} << 24),
            .requests = number("requests", 1, most),
            .frees = number("frees", 0, most),
            .root_bytes = number("root_bytes", 4, std::uint64_t{1} << 46)};
}

/// A call as its line has it.
struct Call {
    bool free;
    std::uint64_t caller;
    std::uint64_t value;
};

std::optional<Call> parsed(std::string_view line) {
    const bool free = line.starts_with("f,");
    if (!free && !line.starts_with("a,")) return std::nullopt;
    line.remove_prefix(2);
    const std::size_t comma = line.find(',');
    if (comma == line.npos) return std::nullopt;
    const auto caller = scenes::read_plain_number<std::uint64_t>(line.substr(0, comma));
    const auto value = scenes::read_plain_number<std::uint64_t>(line.substr(comma + 1));
    if (!caller || !value) return std::nullopt;
    return Call{free, *caller, *value};
}

/// Takes the calls of a trace, and refuses those that contradict the others.
class Collector {
public:
    Collector(const InputLines& lines, const Header& header) : lines_(lines), header_(header) {
        trace_.callers = static_cast<std::uint32_t>(header.callers);
    }

    void add(const Call& call) {
        if (call.caller >= header_.callers) {
            lines_.fail("caller " + std::to_string(call.caller) +
                        " is out of range; the header says that there are " +
                        std::to_string(header_.callers));
        }
        const auto caller = static_cast<std::uint32_t>(call.caller);
        if (call.free) {
            free(caller, call.value);
        } else {
            request(caller, call.value);
        }
    }
    /// The trace, once all lines have been read.
    allocators::Trace take() {
        const std::uint64_t frees = trace_.events.size() - freed_by_.size();
        if (freed_by_.size() != header_.requests || frees != header_.frees) {
            lines_.fail("the file ends after " + grouped(freed_by_.size()) + " requests and " +
                        grouped(frees) + " frees, but the header says " +
                        grouped(header_.requests) + " and " + grouped(header_.frees) +
                        ": it was cut off or changed");
        }
        return std::move(trace_);
    }

private:
    void request(std::uint32_t caller, std::uint64_t bytes) {
        if (bytes == 0 || bytes % 4 != 0) {
            lines_.fail("a request of " + std::to_string(bytes) +
                        " bytes; sizes are positive multiples of 4");
        }
        if (bytes > allocators::kMostTraceBytes - requested_) {
            lines_.fail("with this request all together have more bytes than " +
                        grouped(allocators::kMostTraceBytes));
        }
        requested_ += bytes;
        if (freed_by_.size() == header_.requests) {
            lines_.fail("more requests than the " + grouped(header_.requests) +
                        " of which the header says");
        }
        trace_.events.push_back({caller, static_cast<std::uint32_t>(freed_by_.size()), bytes});
        freed_by_.push_back(0);
    }
    void free(std::uint32_t caller, std::uint64_t block) {
        if (block >= freed_by_.size()) {
            lines_.fail("a free of request " + std::to_string(block) + ", but only " +
                        std::to_string(freed_by_.size()) + " stand before it, counted from 0");
        }
        if (freed_by_[block] != 0) {
            lines_.fail("a second free of request " + std::to_string(block) + ", which line " +
                        std::to_string(freed_by_[block]) + " has freed");
        }
        freed_by_[block] = lines_.number();
        trace_.events.push_back({caller, static_cast<std::uint32_t>(block), 0});
    }

    const InputLines& lines_;
    const Header& header_;
    allocators::Trace trace_;
    std::uint64_t requested_ = 0;          ///< bytes
    std::vector<std::uint64_t> freed_by_;  ///< by request: the line; 0: none
};

/// 64-bit FNV-1a over the header's characters and the numbers and times of the events.
std::string digest(const TraceFile& file) {
    scenes::Fnv hash;
    for (const char c : file.header) hash.add(static_cast<unsigned char>(c));
    for (const allocators::TraceEvent& event : file.trace.events) {
        for (const std::uint32_t word :
             {event.caller, event.block, static_cast<std::uint32_t>(event.bytes)}) {
            hash.add(word);
        }
        // Most sizes have none, and traces keep their digests from before sizes of 64 bits.
        const auto high = static_cast<std::uint32_t>(event.bytes >> 32);
        if (high != 0) hash.add(high);
    }
    for (const std::uint64_t time : file.trace.times) {
        hash.add(static_cast<std::uint32_t>(time));
        hash.add(static_cast<std::uint32_t>(time >> 32));
    }
    return hex(hash.value());
}

}  // namespace

TraceFile read_trace(const std::string& path) {
    InputLines lines(path,
                     "correct the trace, or record it with 'heapwood build SCENE --trace FILE'");
    TraceFile file;
    file.header = lines.next().value_or("");
    if (is_rmm_log(file.header)) {
        file = read_rmm_log(lines, file.header);
        file.digest = digest(file);
        return file;
    }
    const Header said = header(lines, file.header);
    file.root_bytes = said.root_bytes;
    if (lines.next() != kColumns) {
        lines.fail(std::string("the second line of a trace is '") + kColumns + "'");
    }
    Collector collector(lines, said);
    while (const auto line = lines.next()) {
        const auto call = parsed(*line);
        if (!call) lines.fail("this is no call; calls are a,CALLER,BYTES and f,CALLER,REQUEST");
        collector.add(*call);
    }
    file.trace = collector.take();
    file.digest = digest(file);
    return file;
}

std::string trace_text(const allocators::Trace& trace, const Json& origin) {
    const allocators::TraceFacts facts = allocators::facts(trace);
    Json json{{"kind", "trace"},
              {"schema", kSchema},
              {"columns",
               "a: the caller asks for value bytes; f: it frees the block of request number "
               "value, requests being counted from 0 in the order of the file"},
              {"callers", trace.callers},
              {"requests", facts.requests},
              {"frees", facts.frees},
              {"bytes", facts.bytes},
              {"peak_bytes", facts.peak_bytes}};
    json.update(origin);
    std::string text = dumped(json);
    text += std::string("\n") + kColumns + "\n";
    for (const allocators::TraceEvent& event : trace.events) {
        text += event.bytes != 0 ? "a," : "f,";
        text += std::to_string(event.caller) + "," +
                std::to_string(event.bytes != 0 ? event.bytes : event.block) + "\n";
    }
    return text;
}

}  // namespace heapwood::app
