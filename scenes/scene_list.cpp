#include "scenes/scene_list.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "scenes/generators.h"
#include "scenes/obj/byte_source.h"
#include "scenes/scene.h"

namespace heapwood::scenes {

std::vector<ListedScene> read_list(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw SceneError(path + ": cannot be read: " + std::strerror(errno));
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::vector<ListedScene> scenes;
    std::uint64_t number = 0;
    errno = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
        const std::size_t begin = line.find_first_not_of(" \t");
        const std::size_t end = line.find_last_not_of(" \t\r") + 1;
        if (begin >= end || line[begin] == '#') continue;
        const std::string name = line.substr(begin, end - begin);
        const std::string where = path + ":" + std::to_string(number) + ": ";
        const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
        if (std::ranges::any_of(name, is_control)) {
            throw SceneError(where + "control characters; this is no list of files");
        }
        if (is_list(name)) {
            throw SceneError(where + "'" + name + "' is a list; write what is in it");
        }
        scenes.push_back({is_generator(name) ? name : (folder / name).string(), where});
    }
    if (file.bad()) {
        throw SceneError(path + ": cannot be read in full" +
                         (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
    }
    if (scenes.empty()) {
        throw SceneError(path +
                         ": no scene; write an OBJ file or gen:NAME:TRIANGLES[:SEED] a line");
    }
    return scenes;
}

std::vector<std::string> files_of(const std::string& name) {
    if (is_generator(name)) return {};
    std::vector<std::string> files{name};
    std::error_code ignored;
    // What a pipe has can be read once.
    if (!is_list(name) || !std::filesystem::is_regular_file(name, ignored)) return files;
    try {
        for (const ListedScene& listed : read_list(name)) {
            if (!is_generator(listed.name)) files.push_back(listed.name);
        }
    } catch (const SceneError&) {
        // load() says what is wrong with it.
    }
    return files;
}

void with_place(const ListedScene& listed, const std::function<void(const std::string&)>& act) {
    try {
        act(listed.name);
    } catch (const SceneTooLarge& error) {
        throw SceneTooLarge(listed.where + error.what());
    } catch (const SceneError& error) {
        throw SceneError(listed.where + error.what());
    }
}

}  // namespace heapwood::scenes
