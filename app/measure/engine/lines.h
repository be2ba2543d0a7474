/// @file
/// Lines of text over a socket, with a time limit.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace heapwood::app {

/// The outcome of waiting for a line.
enum class Arrival {
    line,
    closed,       ///< the other side is gone
    late,         ///< the time is over
    interrupted,  ///< the descriptor that ends a wait became readable
    flood,        ///< more than Lines::kLongest bytes without an end of line
};

/// One side of a stream socket. Not for several threads.
class Lines {
public:
    using Clock = std::chrono::steady_clock;

    /// Bytes of the longest line that is taken.
    static constexpr std::size_t kLongest = std::size_t{1} << 20;

    /// Does not own the descriptor.
    explicit Lines(int descriptor) : descriptor_(descriptor) {}

    /// Sends a line, without its end. @return false if the other side is gone.
    bool send(const std::string& line) const;

    /// Waits for a line, which is then in `line`, without its end.
    /// @param deadline none: for ever.
    /// @param meanwhile a descriptor that ends the wait when it is readable, or -1.
    Arrival receive(std::string& line, std::optional<Clock::time_point> deadline = std::nullopt,
                    int meanwhile = -1);

private:
    int descriptor_;
    std::string buffer_;  ///< received, and not yet asked for
};

}  // namespace heapwood::app
