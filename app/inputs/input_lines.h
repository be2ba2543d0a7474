/// @file
/// The lines of a file that turns are taken with, and what is wrong with them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "scenes/obj/byte_source.h"

namespace heapwood::app {

/// A file that is not what it is to be; what() names the file, the line, and the remedy.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The lines of a file, plain or compressed, one after the other, without a byte order mark.
class InputLines {
public:
    /// @param remedy what every error says in the end
    /// @throws scenes::SceneError for what cannot be read or decompressed; so does next().
    InputLines(const std::string& path, std::string remedy);

    /// The next line, good until the next call; nothing at the end of the file.
    std::optional<std::string_view> next();
    /// The last line's number, from 1 on.
    std::uint64_t number() const { return number_; }

    /// @throws InputError that names the last line, or that one.
    [[noreturn]] void fail(const std::string& what, std::uint64_t line = 0) const;
    /// What every error says in the end from now on.
    void set_remedy(std::string remedy) { remedy_ = std::move(remedy); }

private:
    std::string path_;
    std::string remedy_;
    std::unique_ptr<scenes::ByteSource> source_;
    std::string text_;
    std::size_t at_ = 0;
    bool ended_ = false;
    std::uint64_t number_ = 0;
};

}  // namespace heapwood::app
