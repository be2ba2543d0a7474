#include "scenes/obj/obj_filter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <utility>

namespace heapwood::scenes {
namespace {

/// There is room for a byte more where half of the block is left.
constexpr std::size_t kLeastBlock = 16;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Every keyword of the format but `v`, `f` and `fo`.
constexpr auto kOtherKeywords = std::to_array<std::string_view>(
    {"vn",     "vt",     "g",          "s",         "usemtl",   "o",        "mtllib",
     "l",      "p",      "vp",         "mg",        "deg",      "bmat",     "step",
     "cstype", "curv",   "curv2",      "surf",      "parm",     "trim",     "hole",
     "scrv",   "sp",     "end",        "con",       "bevel",    "c_interp", "lod",
     "usemap", "maplib", "shadow_obj", "trace_obj", "d_interp", "ctech",    "stech",
     "call",   "csh",    "bsp",        "bzp",       "cdc",      "cdp",      "res"});

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}
bool is_digit(char c) {
    return static_cast<unsigned char>(c - '0') < 10;
}

char* skip_blanks(char* at, const char* end) {
    while (at != end && is_blank(*at)) ++at;
    return at;
}

char* skip_word(char* at, const char* end) {
    while (at != end && !is_blank(*at)) ++at;
    return at;
}

/// Text from a file for a message: short, and nothing that a terminal would act on.
std::string quoted(std::string_view text) {
    constexpr std::size_t kLongest = 40;
    std::string out = "'";
    for (const char c : text.substr(0, kLongest)) {
        const auto byte = static_cast<unsigned char>(c);
        out += byte >= 0x20 && byte < 0x7F ? c : '?';
    }
    return out + (text.size() > kLongest ? "...'" : "'");
}

/// Whether the text is one of the many spellings of a number that is not finite: nan, -nan(ind),
/// inf, Infinity, 1.#QNAN, -1.#INF.
bool spells_non_finite(std::string_view text) {
    std::string lower;
    for (const char c : text) {
        lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const std::size_t sign = lower.starts_with('-') || lower.starts_with('+') ? 1 : 0;
    const std::string_view word = std::string_view(lower).substr(sign);
    return word.starts_with("nan") || word.starts_with("inf") || word.starts_with("1.#");
}

}  // namespace

ObjFilter::ObjFilter(ByteSource& source, UseFace use_face, std::size_t expected)
    : source_(source),
      use_face_(std::move(use_face)),
      buffer_(std::clamp(expected, kLeastBlock, kBlockBytes) + 1),
      first_nul_(kNone) {}

void ObjFilter::fail(const std::string& message) const {
    throw LineFault(statement_line_, message);
}

/// Moves what is left to the front and reads at least one byte more, or sets ended_.
void ObjFilter::refill() {
    const std::size_t left = filled_ - at_;
    if (left >= kLongestLine) {
        throw LineFault(lines_ + 1, "line of more than 64 MiB; this is no text in the OBJ format");
    }
    std::memmove(buffer_.data(), buffer_.data() + at_, left);
    lf_searched_ -= at_;
    next_lf_ -= std::min(next_lf_, at_);
    if (first_nul_ != kNone) first_nul_ -= at_;
    at_ = 0;
    filled_ = left;
    if (left * 2 > buffer_.size()) buffer_.resize(2 * buffer_.size());
    const std::size_t count = source_.read(buffer_.data() + left, buffer_.size() - 1 - left);
    if (count == 0) ended_ = true;
    if (first_nul_ == kNone) {
        const char* from = buffer_.data() + left;
        const void* nul = count == 0 ? nullptr : std::memchr(from, '\0', count);
        if (nul != nullptr) {
            first_nul_ = left + static_cast<std::size_t>(static_cast<const char*>(nul) - from);
        }
    }
    filled_ += count;
}

/// The next line without its end: LF, CRLF or CR.
bool ObjFilter::next_line(Line& line) {
    if (held_.begin != nullptr) {
        line = std::exchange(held_, {});
        return true;
    }
    for (;;) {
        // The position of the next LF is kept from call to call, so that a file that ends its
        // lines with CR alone is not searched to the block's end for every line.
        if (next_lf_ < at_ || next_lf_ >= lf_searched_) {
            const std::size_t from = std::max(at_, lf_searched_);
            const void* lf = from == filled_
                                 ? nullptr
                                 : std::memchr(buffer_.data() + from, '\n', filled_ - from);
            next_lf_ =
                lf == nullptr
                    ? filled_
                    : static_cast<std::size_t>(static_cast<const char*>(lf) - buffer_.data());
            lf_searched_ = lf == nullptr ? filled_ : next_lf_ + 1;
        }
        const void* cr =
            next_lf_ == at_ ? nullptr : std::memchr(buffer_.data() + at_, '\r', next_lf_ - at_);
        std::size_t end = next_lf_;
        std::size_t next = next_lf_ + 1;
        if (cr != nullptr) {
            end = static_cast<std::size_t>(static_cast<const char*>(cr) - buffer_.data());
            next = end + 1 == next_lf_ && next_lf_ < filled_ ? next_lf_ + 1 : end + 1;
        }
        // A CR at the end of the block may be half of a CRLF.
        if ((end == filled_ || next == filled_) && next_lf_ == filled_ && !ended_) {
            refill();
            continue;
        }
        if (at_ == filled_) return false;
        ++lines_;
        if (first_nul_ < end) {
            throw LineFault(lines_,
                            "NUL byte in the line; this is binary data or UTF-16, not an OBJ in "
                            "plain text");
        }
        line = {buffer_.data() + at_, buffer_.data() + end};
        at_ = std::min(next, filled_);
        return true;
    }
}

/// The next statement, joined from its lines.
bool ObjFilter::next_statement(Line& line) {
    for (;;) {
        if (!next_line(line)) return false;
        statement_line_ = lines_;
        line.begin = skip_blanks(line.begin, line.end);
        // A comment cannot be continued: "# from C:\models\" would swallow a statement.
        if (line.begin == line.end || *line.begin == '#') continue;
        if (line.end[-1] == '\\') {
            join(line);
            if (line.begin == line.end || *line.begin == '#') continue;
        }
        return true;
    }
}

/// Adds to a line that ends in `\` those that continue it.
void ObjFilter::join(Line& line) {
    joined_.clear();
    bool more = true;
    while (more) {
        more = line.begin != line.end && line.end[-1] == '\\';
        joined_.append(line.begin, more ? line.end - 1 : line.end);
        joined_ += ' ';
        if (joined_.size() > kLongestLine) fail("continued lines of more than 64 MiB together");
        more = more && next_continuation(line);
    }
    line.end = joined_.data() + joined_.size() - 1;
    line.begin = skip_blanks(joined_.data(), line.end);
}

/// The line that continues one that ends in `\`: the next one, or, where that is empty, the next
/// that is not, provided that it goes on with a number and thus is no statement of its own.
bool ObjFilter::next_continuation(Line& line) {
    for (bool adjacent = true; next_line(line); adjacent = false) {
        const char* const at = skip_blanks(line.begin, line.end);
        if (at == line.end) continue;
        if (adjacent || is_digit(*at) || *at == '-' || *at == '+' || *at == '.') return true;
        held_ = line;
        return false;
    }
    return false;
}

ObjFilter::int_type ObjFilter::underflow() {
    Line line;
    do {
        if (!next_statement(line)) return traits_type::eof();
    } while (!accept(line));
    *line.end = '\n';
    setg(line.begin, line.begin, line.end + 1);
    return traits_type::to_int_type(*line.begin);
}

/// Checks a statement; if it is a vertex, cuts it to its plain form and returns true.
bool ObjFilter::accept(Line& line) {
    char* const keyword_end = skip_word(line.begin, line.end);
    const std::string_view keyword(line.begin, keyword_end);
    if (keyword == "v") {
        accept_vertex(line, keyword_end);
        return true;
    }
    if (keyword == "f" || keyword == "fo") {
        take_face(line, keyword_end);
        return false;
    }
    note_other(keyword);
    return false;
}

void ObjFilter::note_other(std::string_view keyword) {
    if (unknown_line_ == 0 && std::ranges::find(kOtherKeywords, keyword) == kOtherKeywords.end()) {
        unknown_line_ = statement_line_;
        unknown_text_ = quoted(keyword);
    }
}

void ObjFilter::accept_vertex(Line& line, char* at) {
    non_finite_.clear();
    std::size_t count = 0;
    char* third_end = line.end;
    for (;;) {
        at = skip_blanks(at, line.end);
        if (at == line.end || *at == '#') break;
        char* const word_end = skip_word(at, line.end);
        check_number({at, word_end}, ++count <= 3);
        if (count == 3) third_end = word_end;
        at = word_end;
    }
    // x y z, x y z w, x y z r g b, and both or with an opacity.
    if (count != 3 && count != 4 && count != 6 && count != 7) {
        fail("vertex of " + std::to_string(count) +
             " numbers; write 3 (x y z), 4 (with a weight), 6 or 7 (with a colour)");
    }
    line.end = third_end;
}

void ObjFilter::take_face(const Line& line, char* at) {
    face_.clear();
    for (;;) {
        at = skip_blanks(at, line.end);
        if (at == line.end || *at == '#') break;
        char* const word_end = skip_word(at, line.end);
        face_.push_back(index_of({at, word_end}));
        at = word_end;
    }
    if (face_.size() < 3) {
        fail("face of " + std::to_string(face_.size()) + " vertices; a face needs 3 or more");
    }
    use_face_(face_);
}

/// [sign] digits [. digits] [e [sign] digits], with a digit before the e; or a spelling of a number
/// that is not finite, which is noted of one that is used.
void ObjFilter::check_number(std::string_view text, bool used) {
    const char* at = text.data();
    const char* const end = at + text.size();
    if (*at == '+' || *at == '-') ++at;
    const char* const mantissa = at;
    while (at != end && is_digit(*at)) ++at;
    std::ptrdiff_t digits = at - mantissa;
    if (at != end && *at == '.') {
        const char* const fraction = ++at;
        while (at != end && is_digit(*at)) ++at;
        digits += at - fraction;
    }
    if (digits > 0 && at != end && (*at == 'e' || *at == 'E')) {
        ++at;
        if (at != end && (*at == '+' || *at == '-')) ++at;
        const char* const exponent = at;
        while (at != end && *at == '0') ++at;
        const char* const significant = at;
        while (at != end && is_digit(*at)) ++at;
        if (at == exponent) digits = 0;
        // tinyobjloader keeps the exponent in an int, and checks too late that it fits.
        constexpr std::ptrdiff_t kIntDigits = 9;
        if (used && at == end && at - significant > kIntDigits) {
            fail("number " + quoted(text) + " has an exponent of more than 9 digits");
        }
    }
    if (at == end && digits > 0) return;
    if (spells_non_finite(text)) {
        if (used && non_finite_.empty()) non_finite_ = quoted(text);
        return;
    }
    fail(quoted(text) + " is not a number; a vertex is 'v x y z' with decimal numbers");
}

/// The first number of a word that is an index, index/texture, index//normal or
/// index/texture/normal.
std::int32_t ObjFilter::index_of(std::string_view text) const {
    const char* at = text.data();
    const char* const end = at + text.size();
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    std::int64_t value = 0;
    const bool backwards = at != end && *at == '-';
    for (int part = 0;; ++part) {
        const bool sign = at != end && (*at == '+' || *at == '-');
        if (sign) ++at;
        const char* const digits = at;
        for (; at != end && is_digit(*at); ++at) {
            if (part == 0) value = std::min(10 * value + (*at - '0'), kLargest + 1);
        }
        const bool empty = at == digits;
        const bool ends = at == end;
        if ((empty && (part == 0 || sign)) || (!ends && (*at != '/' || part == 2))) {
            fail(quoted(text) +
                 " is not a vertex of a face; write an index, or "
                 "index/texture/normal");
        }
        if (ends) break;
        ++at;
    }
    if (value == 0) fail("face index 0; indices count from 1, or backwards from -1");
    if (value > kLargest) {
        fail("face index " + quoted(text) + " is out of range; the largest is 2147483647");
    }
    return static_cast<std::int32_t>(backwards ? -value : value);
}

}  // namespace heapwood::scenes
