/// @file
/// A place in a source file.
#pragma once

namespace heapwood::tests {

/// Where in a source file a function is called; clang 14 has no std::source_location.
class Site {
public:
    constexpr Site() = default;  ///< no place
    /// The place of the call; of a function whose default argument it is, the place of that call.
    static constexpr Site current(const char* file = __builtin_FILE(),
                                  unsigned line = __builtin_LINE()) {
        return {file, line};
    }
    constexpr const char* file_name() const { return file_; }
    constexpr unsigned line() const { return line_; }

private:
    constexpr Site(const char* file, unsigned line) : file_(file), line_(line) {}

    const char* file_ = "";
    unsigned line_ = 0;
};

}  // namespace heapwood::tests
