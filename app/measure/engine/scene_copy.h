/// @file
/// A scene that a program has loaded, for its worker processes.
#pragma once

#include "app/base/json.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// A copy of a scene in memory, as an open file without a name, which processes that are started
/// later inherit: none of them reads the scene's own file, which may have changed or be gone. It
/// takes 12 bytes for each vertex and each triangle, until the object and all processes are gone.
/// Where the system refuses such a file, as beyond a limit on the size of files, there is no copy,
/// and the processes load the scene by its name.
class SceneCopy {
public:
    explicit SceneCopy(const scenes::Scene& scene);
    SceneCopy(SceneCopy&& other) noexcept;
    SceneCopy& operator=(SceneCopy&&) = delete;
    ~SceneCopy();

    /// What a process needs to read it: {"scene": path, "descriptor": number of the open file}, or
    /// without a copy the path.
    Json where() const;

private:
    std::string path_;
    int file_;  ///< or -1
};

/// The scene that a SceneCopy of the parent process was made of, bit for bit.
/// @param where as SceneCopy::where() has it.
/// @param threads that may read the scene's own file; 0: one a core.
/// @throws std::exception if there is no such file, or it is not whole.
scenes::Scene read_scene_copy(const Json& where, unsigned threads);

}  // namespace heapwood::app
