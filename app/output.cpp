#include "app/output.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "app/console.h"
#include "app/exit_code.h"

namespace heapwood::app {

Output::Output(std::string path) : path_(std::move(path)) {
    if (path_ == "-") return;
    std::error_code ignored;
    const bool existed = std::filesystem::exists(path_, ignored);
    errno = 0;
    const std::ofstream probe(path_, std::ios::app);
    if (!probe) {
        throw UsageError("cannot write '" + path_ + "': " + std::strerror(errno));
    }
    created_ = !existed;
}

Output::~Output() {
    std::error_code ignored;
    if (created_) std::filesystem::remove(path_, ignored);
}

void Output::write(std::string_view text) {
    if (path_ == "-") {
        write_to_stdout(text);
        return;
    }
    created_ = false;
    std::ofstream file(path_, std::ios::trunc | std::ios::binary);
    file << text << std::flush;
    if (!file) throw std::runtime_error("'" + path_ + "' could not be written in full");
}

void write_to_stdout(std::string_view text) {
    clear_progress();
    std::cout << text << std::flush;
    if (!std::cout) throw std::runtime_error("standard output could not be written in full");
}

}  // namespace heapwood::app
