#include "app/base/output.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "app/base/console.h"
#include "app/base/exit_code.h"

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
    // Into a new file that then takes the place of the old one, so that there is always a whole
    // one; but not in the place of a device, or where the folder takes no new files.
    std::error_code error;
    const std::filesystem::path target = std::filesystem::canonical(path_, error);
    const std::filesystem::path fresh = target.string() + ".new";
    if (!error && std::filesystem::is_regular_file(target, error)) {
        if (std::ofstream file(fresh, std::ios::trunc | std::ios::binary); file) {
            file << text << std::flush;
            file.close();
            if (file) std::filesystem::rename(fresh, target, error);
            if (file && !error) {
                created_ = false;
                return;
            }
            std::filesystem::remove(fresh, error);
            throw std::runtime_error("'" + path_ + "' could not be written in full");
        }
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
