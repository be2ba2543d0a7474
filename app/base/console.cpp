#include "app/base/console.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "app/base/exit_code.h"
#include "app/base/json.h"
#include "app/base/printable.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

bool progress_wanted = false;
bool progress_is_read = false;  ///< by another program
bool progress_shown = false;

/// A terminal that understands escape sequences.
bool capable(int descriptor) {
    const char* term = std::getenv("TERM");
    return isatty(descriptor) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

/// As much of the text as a line of the terminal holds: only one line can be erased.
std::string fitting(std::string text) {
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return text;
    while (!text.empty() && display_width(text) >= size.ws_col) text.pop_back();
    return text;
}

void show_line(const std::string& text) {
    if (!progress_wanted) return;
    std::cerr << kEraseLine << fitting(printable(text + " ...")) << std::flush;
    progress_shown = true;
}

/// One write: other processes of the run write to the same pipe.
void tell(const Json& progress) {
    std::cerr << "heapwood: progress: " + dumped(progress) + "\n" << std::flush;
    // The reader may have ended before this program could ask to be told of it.
    if (!std::cerr) static_cast<void>(std::raise(SIGTERM));
}

}  // namespace

bool colour_allowed(int descriptor) {
    const char* no_color = std::getenv("NO_COLOR");
    return capable(descriptor) && (no_color == nullptr || *no_color == '\0');
}

void set_up_progress(bool wanted) {
    const char* form = std::getenv("HEAPWOOD_PROGRESS");
    progress_is_read = form != nullptr && *form != '\0';
    if (progress_is_read && std::string_view(form) != "json") {
        throw UsageError("HEAPWOOD_PROGRESS='" + std::string(form) +
                         "' is no form of progress: set it to json, or unset it");
    }
    if (progress_is_read) prctl(PR_SET_PDEATHSIG, SIGTERM);
    progress_wanted = wanted && !progress_is_read && capable(STDERR_FILENO);
}

void show_progress(const std::string& what) {
    if (progress_is_read) return tell({{"what", what}});
    show_line(what);
}

void show_progress(const std::string& what, const Share& share, const std::string& intro) {
    if (progress_is_read) {
        return tell({{"done", share.done}, {"total", share.total}, {"what", what}});
    }
    show_line(intro + what);
}

void clear_progress() {
    if (!progress_shown) return;
    std::cerr << kEraseLine << std::flush;
    progress_shown = false;
}

}  // namespace heapwood::app
