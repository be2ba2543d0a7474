/// @file
/// Lists of scenes that are one scene: `.list` files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heapwood::scenes {

/// Whether load() takes what has this name as a list.
inline bool is_list(std::string_view name) {
    return name.ends_with(".list");
}

/// A line of a list.
struct ListedScene {
    std::string name;   ///< as load() takes it, no list
    std::string where;  ///< "LIST:LINE: ", for messages
};

/// Reads a list: a scene in each line, in the order of the triangles, a path being relative to the
/// list's folder. Empty lines and those that begin with # are passed over.
/// @throws SceneError that names the list, and the line, if it cannot be read, has no scene, or has
/// a list.
std::vector<ListedScene> read_list(const std::string& path);

/// The files that load() reads for what has this name: of a list itself and those that it names, of
/// a generator none. What is no sound list counts as itself alone.
std::vector<std::string> files_of(const std::string& name);

/// Calls act(name). @throws SceneError as `act` does, but that names the list's line, too.
void with_place(const ListedScene& listed, const std::function<void(const std::string&)>& act);

}  // namespace heapwood::scenes
