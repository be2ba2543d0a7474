/// @file
/// Inputs that several processes read.
#pragma once

#include <string>

namespace heapwood::app {

/// Refuses a file that the processes of a run cannot each read from its beginning: a pipe, whose
/// bytes are gone once they are read, or a name such as /dev/stdin, which means another file in
/// each process. So it does if a scene's list names such a file. Other files, and those that do not
/// exist, are for their readers to judge.
/// @throws InputError, scenes::SceneError.
void check_shared(const std::string& input);

}  // namespace heapwood::app
