#include "app/base/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "app/base/printable.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

bool progress_wanted = false;
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

}  // namespace

bool colour_allowed(int descriptor) {
    const char* no_color = std::getenv("NO_COLOR");
    return capable(descriptor) && (no_color == nullptr || *no_color == '\0');
}

void set_up_progress(bool wanted) {
    progress_wanted = wanted && capable(STDERR_FILENO);
}

void show_progress(const std::string& what) {
    if (!progress_wanted) return;
    std::cerr << kEraseLine << fitting(printable(what) + " ...") << std::flush;
    progress_shown = true;
}

void clear_progress() {
    if (!progress_shown) return;
    std::cerr << kEraseLine << std::flush;
    progress_shown = false;
}

}  // namespace heapwood::app
