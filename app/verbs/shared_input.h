/// @file
/// Inputs that several processes read.
#pragma once

#include <string>

namespace heapwood::app {

/// Refuses a file, a trace or a graph, that the processes of a run cannot each read from its
/// beginning: a pipe, whose bytes are gone once they are read, or a name such as /dev/stdin, which
/// means another file in each process. Other files, and those that do not exist, are for their
/// readers to judge. @param file empty: none @throws InputError.
void check_shared(const std::string& file);

/// The same of a scene: its file, and those that its list names. A generator has none.
/// @throws InputError, scenes::SceneError.
void check_shared_scene(const std::string& scene);

}  // namespace heapwood::app
