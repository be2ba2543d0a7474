/// @file
/// The only file that includes spdlog: as a header library, so that the executable carries it.
#include "app/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "app/console.h"

namespace heapwood::app::log {
namespace {

void say(spdlog::level::level_enum level, const std::string& message) {
    clear_progress();
    spdlog::log(level, "{}", message);
}

}  // namespace

void set_up(int verbosity) {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
        colour_allowed(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
    auto logger = std::make_shared<spdlog::logger>("heapwood", std::move(sink));
    logger->set_pattern("heapwood: %^%l%$: %v");
    logger->set_level(verbosity < 0    ? spdlog::level::err
                      : verbosity == 0 ? spdlog::level::info
                                       : spdlog::level::debug);
    spdlog::set_default_logger(std::move(logger));
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
