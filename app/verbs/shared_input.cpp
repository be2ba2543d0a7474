#include "app/verbs/shared_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "app/inputs/input_lines.h"
#include "scenes/generators.h"
#include "scenes/scene_list.h"

namespace heapwood::app {
namespace {

/// Whether a path, or a link on its way, is among the files that this process has open.
bool is_of_this_process(std::filesystem::path path) {
    const std::string own = "/proc/" + std::to_string(getpid()) + "/";
    std::error_code error;
    for (int links = 0; links < 40; ++links) {
        const auto folder =
            std::filesystem::canonical(std::filesystem::absolute(path, error).parent_path(), error);
        if (error) return false;
        if (folder.string().starts_with(own)) return true;
        path = folder / path.filename();
        if (!std::filesystem::is_symlink(path, error)) return false;
        path = folder / std::filesystem::read_symlink(path, error);
    }
    return false;
}

/// Why several processes cannot read the file; empty: they can.
std::string obstacle(const std::string& path) {
    std::error_code ignored;
    const std::filesystem::file_status status = std::filesystem::status(path, ignored);
    if (!std::filesystem::is_fifo(status) && !std::filesystem::is_socket(status)) {
        return is_of_this_process(path) ? "is an open file of one process" : "";
    }
    const int pipe = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char byte = 0;
    const bool ended = pipe >= 0 && ::read(pipe, &byte, 1) == 0;
    if (pipe >= 0) close(pipe);
    return ended ? "is a named pipe that no process writes to"
                 : "is a pipe, whose bytes can be read once";
}

void check_file(const std::string& path, const std::string& where) {
    if (path.empty()) return;
    const std::string why = obstacle(path);
    if (why.empty()) return;
    throw InputError(where + path + ": " + why +
                     ", and several processes are to read it: write it to a file, and name that");
}

}  // namespace

void check_shared(const std::string& file) {
    check_file(file, "");
}

void check_shared_scene(const std::string& scene) {
    if (scenes::is_generator(scene)) return;
    check_file(scene, "");
    std::error_code ignored;
    if (!scenes::is_list(scene) || !std::filesystem::is_regular_file(scene, ignored)) return;
    for (const scenes::ListedScene& listed : scenes::read_list(scene)) {
        if (!scenes::is_generator(listed.name)) check_file(listed.name, listed.where);
    }
}

}  // namespace heapwood::app
