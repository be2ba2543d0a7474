/// @file
/// The part of reading an OBJ that tinyobjloader leaves out: checking it.
///
/// tinyobjloader turns what it does not understand into zeros ("v nan 0 0", "v 0 0", "f 1 2 x")
/// and does not say where. ObjFilter stands between the file and tinyobjloader: it hands on, line
/// by line, what it has checked, so that a mistake is reported with its line and tinyobjloader
/// sees vertices of plain form only. The indices of faces are known once they are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "scenes/obj/byte_source.h"

namespace heapwood::scenes {

/// The longest line, and the longest statement of several lines, in bytes.
inline constexpr std::size_t kLongestLine = std::size_t{64} << 20;

/// Thrown for what is wrong in a line, whose number counts from 1 in the text that is read.
class LineFault : public std::runtime_error {
public:
    LineFault(std::uint64_t line, const std::string& message)
        : std::runtime_error(message), line_(line) {}
    std::uint64_t line() const { return line_; }

private:
    std::uint64_t line_;
};

/// A stream buffer that hands on the `v` statements of an OBJ in plain form, and calls a function
/// for the `f` statements between them:
/// - lines end in LF (CRLF and CR are read too), lines continued with `\` are joined, also over
///   empty ones, comments (also behind a statement) and all other statements are left out;
/// - `v` has exactly three numbers, of which non_finite() says if one is not finite; a weight and
///   colours are counted and left out, also those that are not finite;
/// - `f` (also spelt `fo`, as the format's first version did) has three or more indices, each a
///   decimal number other than 0 that an int can hold; texture and normal indices are left out.
///
/// It hands on one statement at a time, so line() tells where the statement being read came from,
/// and all vertices before a face have been read when its function is called.
class ObjFilter : public std::streambuf {
public:
    /// The most that is read at a time, but for lines that are longer.
    static constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

    /// Takes the indices of a face: from 1, or backwards from -1.
    using UseFace = std::function<void(std::span<const std::int32_t>)>;

    /// Reads from `source`, which must outlive the filter.
    /// @param expected bytes of the source, about, for which it takes memory.
    ObjFilter(ByteSource& source, UseFace use_face, std::size_t expected = kBlockBytes);

    /// Line number, from 1, of the first line of the statement handed on last.
    std::uint64_t line() const { return statement_line_; }

    /// Of the vertex handed on last, how its first coordinate that is not finite is spelt, in
    /// quotes; empty: all are finite, as spelt. Such a coordinate matters if a face uses the
    /// vertex.
    const std::string& non_finite() const { return non_finite_; }

    /// Number of lines that have been read.
    std::uint64_t lines() const { return lines_; }

    /// Throws a LineFault of line().
    [[noreturn]] void fail(const std::string& message) const;

    /// The first line that begins with no keyword of the format, for the message about a file
    /// with no triangle: its number (0: there is none) and its beginning.
    std::uint64_t unknown_line() const { return unknown_line_; }
    const std::string& unknown_text() const { return unknown_text_; }

protected:
    int_type underflow() override;

private:
    struct Line {
        char* begin = nullptr;
        char* end = nullptr;  ///< may be written to: there is room for a line end
    };

    bool next_line(Line& line);
    bool next_statement(Line& line);
    void join(Line& line);
    bool next_continuation(Line& line);
    void refill();
    bool accept(Line& line);
    void accept_vertex(Line& line, char* at);
    void take_face(const Line& line, char* at);
    void check_number(std::string_view text, bool used);
    std::int32_t index_of(std::string_view text) const;
    void note_other(std::string_view keyword);

    ByteSource& source_;
    UseFace use_face_;
    std::vector<std::int32_t> face_;
    std::vector<char> buffer_;  ///< one byte more than is ever filled: room for a line end
    std::size_t at_ = 0;        ///< first byte not yet taken as part of a line
    std::size_t filled_ = 0;
    std::size_t next_lf_ = 0;  ///< of the first LF at or after at_ if below lf_searched_
    std::size_t lf_searched_ = 0;
    std::size_t first_nul_;  ///< position of the first NUL byte, or kNone
    bool ended_ = false;
    std::string joined_;  ///< a statement of several lines
    Line held_;  ///< read ahead, the next one to be handed on; begin is nullptr without one
    std::uint64_t lines_ = 0;
    std::uint64_t statement_line_ = 0;
    std::string non_finite_;
    std::uint64_t unknown_line_ = 0;
    std::string unknown_text_;
};

}  // namespace heapwood::scenes
