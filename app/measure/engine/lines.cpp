#include "app/measure/engine/lines.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

namespace heapwood::app {
namespace {

/// Milliseconds for poll(), rounded up so that it does not wake too early; -1: for ever.
int wait_ms(std::optional<Lines::Clock::time_point> deadline) {
    if (!deadline) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*deadline - Lines::Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

bool Lines::send(const std::string& line) const {
    const std::string text = line + "\n";
    for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t n = ::send(descriptor_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) sent += static_cast<std::size_t>(n);
    }
    return true;
}

Arrival Lines::receive(std::string& line, std::optional<Clock::time_point> deadline,
                       int meanwhile) {
    for (;;) {
        const std::size_t end = buffer_.find('\n');
        if (end != buffer_.npos) {
            line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return Arrival::line;
        }
        if (buffer_.size() > kLongest) return Arrival::flood;
        std::array<pollfd, 2> watched{
            {{.fd = descriptor_, .events = POLLIN, .revents = 0},
             {.fd = meanwhile, .events = POLLIN, .revents = 0}}};  // poll() skips -1
        const int ready = poll(watched.data(), watched.size(), wait_ms(deadline));
        if (watched[1].revents != 0) return Arrival::interrupted;
        if (ready == 0) return Arrival::late;
        if (ready < 0) continue;  // a signal; who waits for one hears of it by `meanwhile`
        std::array<char, 65536> chunk;
        const ssize_t n = recv(descriptor_, chunk.data(), chunk.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return Arrival::closed;
        buffer_.append(chunk.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace heapwood::app
