/// @file
/// The only file that includes spdlog: as a header library, so that the executable carries it.
#include "app/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "app/base/console.h"
#include "app/base/printable.h"

namespace heapwood::app::log {
namespace {

/// The program's only logger, made at its first use: to standard error, whatever happens first.
spdlog::logger& logger() {
    static spdlog::logger the_logger = [] {
        auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
            colour_allowed(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
        spdlog::logger made("heapwood", std::move(sink));
        made.set_pattern("heapwood: %^%l%$: %v");
        return made;
    }();
    return the_logger;
}

void say(spdlog::level::level_enum level, const std::string& message) {
    clear_progress();
    logger().log(level, brief(message));
}

}  // namespace

void set_up(int verbosity) {
    logger().set_level(verbosity < 0    ? spdlog::level::err
                       : verbosity == 0 ? spdlog::level::info
                                        : spdlog::level::debug);
}

void error(const std::string& message) {
    say(spdlog::level::err, message);
}

void warning(const std::string& message) {
    say(spdlog::level::warn, message);
}

void note(const std::string& message) {
    say(spdlog::level::info, message);
}

void detail(const std::string& message) {
    say(spdlog::level::debug, message);
}

}  // namespace heapwood::app::log
