#include "app/inputs/input_lines.h"

#include <algorithm>
#include <utility>

namespace heapwood::app {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;

}  // namespace

InputLines::InputLines(const std::string& path, std::string remedy)
    : path_(path), remedy_(std::move(remedy)), source_(scenes::open_source(path)) {}

std::optional<std::string_view> InputLines::next() {
    std::size_t end = text_.find('\n', at_);
    while (end == std::string::npos && !ended_) {
        if (text_.size() - at_ > kLongestLine) fail("a line is too long", number_ + 1);
        text_.erase(0, at_);
        at_ = 0;
        const std::size_t left = text_.size();
        text_.resize(left + kLongestLine);
        const std::size_t count = source_->read(text_.data() + left, kLongestLine);
        text_.resize(left + count);
        ended_ = count == 0;
        end = text_.find('\n', left);
    }
    if (at_ == text_.size()) return std::nullopt;
    if (end == std::string::npos) end = text_.size();
    std::string_view line(text_.data() + at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    ++number_;
    if (number_ == 1 && line.starts_with(scenes::kByteOrderMark)) {
        line.remove_prefix(scenes::kByteOrderMark.size());
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

void InputLines::fail(const std::string& what, std::uint64_t line) const {
    throw InputError(path_ + ":" + std::to_string(line != 0 ? line : number_) + ": " + what + "; " +
                     remedy_);
}

}  // namespace heapwood::app
