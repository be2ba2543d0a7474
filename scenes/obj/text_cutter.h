/// @file
/// The text of an OBJ in pieces that can be read by themselves.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <vector>

#include "scenes/obj/byte_source.h"

namespace heapwood::scenes {

/// A piece of a text: whole statements.
struct ObjText {
    std::vector<char> bytes;
    /// What comes after the bytes, of a text that cannot be cut; or nullptr.
    ByteSource* rest = nullptr;
    /// Why there are no more bytes; or nullptr: the piece is whole.
    std::exception_ptr failure;
};

/// The bytes of a piece, then what it has of `rest` and `failure`, as a source. Refers to the
/// piece.
class TextSource : public ByteSource {
public:
    explicit TextSource(const ObjText& text) : text_(text) {}
    std::size_t read(char* to, std::size_t size) override;

private:
    const ObjText& text_;
    std::size_t used_ = 0;
};

/// Reads a text and cuts it between statements: behind an LF, or a CR that no LF follows, provided
/// that the last line with anything in it does not end in `\`, which may go on behind blank lines.
/// Where 64 MiB have no such place, all that is left is one piece. A byte order mark is left out.
class TextCutter {
public:
    /// Reads from `source`, which must outlive cutter and pieces.
    /// @param bytes of a piece, about. A statement that is longer makes its piece longer.
    TextCutter(ByteSource& source, std::size_t bytes) : source_(source), bytes_(bytes) {}

    /// Reads so many pieces ahead, if there are. @return how many there are ahead.
    std::size_t read_ahead(std::size_t pieces);

    /// The next piece, in the memory of one that is of no more use. A fault of the source is part
    /// of the last piece, since what is wrong with the text before it comes first.
    /// @return false behind the last one: `text` then has anything.
    bool next(ObjText& text);

private:
    bool read(ObjText& text);
    void fill(ObjText& text, std::size_t size);

    ByteSource& source_;
    std::size_t bytes_;
    std::deque<ObjText> ahead_;
    std::vector<char> left_;  ///< behind the last cut
    bool begun_ = false;
    bool ended_ = false;
};

}  // namespace heapwood::scenes
