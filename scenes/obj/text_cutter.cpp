#include "scenes/obj/text_cutter.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "scenes/obj/obj_filter.h"

namespace heapwood::scenes {
namespace {

/// The last place where a text can be cut; 0: there is none.
std::size_t last_cut(std::string_view text) {
    std::size_t from = text.size();
    for (;;) {
        std::size_t end = text.substr(0, from).find_last_of("\r\n");
        // A CR that is the last byte may be half of a CRLF.
        if (end != text.npos && text[end] == '\r' && end + 1 == text.size()) {
            end = end == 0 ? text.npos : text.find_last_of("\r\n", end - 1);
        }
        if (end == text.npos) return 0;
        const std::size_t last = text.find_last_not_of(" \t\r\n", end);
        if (last == text.npos || text[last] != '\\') return end + 1;
        from = last;
    }
}

std::string_view view_of(const ObjText& text) {
    return {text.bytes.data(), text.bytes.size()};
}

}  // namespace

std::size_t TextSource::read(char* to, std::size_t size) {
    const std::size_t count = std::min(size, text_.bytes.size() - used_);
    std::copy_n(text_.bytes.data() + used_, count, to);
    used_ += count;
    if (count > 0) return count;
    if (text_.failure) std::rethrow_exception(text_.failure);
    return text_.rest == nullptr ? 0 : text_.rest->read(to, size);
}

std::size_t TextCutter::read_ahead(std::size_t pieces) {
    ObjText text;
    while (ahead_.size() < pieces && read(text)) ahead_.push_back(std::exchange(text, {}));
    return ahead_.size();
}

bool TextCutter::next(ObjText& text) {
    if (ahead_.empty()) return read(text);
    text = std::move(ahead_.front());
    ahead_.pop_front();
    return true;
}

bool TextCutter::read(ObjText& text) {
    text.rest = nullptr;
    text.failure = nullptr;
    text.bytes.assign(left_.begin(), left_.end());
    left_.clear();
    if (!begun_) {
        fill(text, kByteOrderMark.size());
        if (view_of(text) == kByteOrderMark) text.bytes.clear();
        begun_ = true;
    }
    for (std::size_t wanted = bytes_;; wanted *= 2) {
        fill(text, wanted);
        if (ended_) return !text.bytes.empty() || text.failure;
        const std::size_t cut = last_cut(view_of(text));
        if (cut != 0) {
            left_.assign(text.bytes.begin() + static_cast<std::ptrdiff_t>(cut), text.bytes.end());
            text.bytes.resize(cut);
            return true;
        }
        if (wanted >= kLongestLine) {
            text.rest = &source_;
            ended_ = true;
            return true;
        }
    }
}

/// Reads until the piece has so many bytes, or the source has no more.
void TextCutter::fill(ObjText& text, std::size_t size) {
    std::size_t filled = text.bytes.size();
    if (ended_ || filled >= size) return;
    text.bytes.resize(size);
    try {
        while (filled < size) {
            const std::size_t count = source_.read(text.bytes.data() + filled, size - filled);
            if (count == 0) break;
            filled += count;
        }
    } catch (...) {
        text.failure = std::current_exception();
    }
    ended_ = filled < size;
    text.bytes.resize(filled);
}

}  // namespace heapwood::scenes
