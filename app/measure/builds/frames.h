/// @file
/// Animated scenes: which frames, and what their builds with one allocator were.
#pragma once

#include <string>
#include <vector>

#include "app/backends/backend.h"
#include "app/measure/builds/report.h"
#include "app/measure/builds/turn.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// Frames as users name them: N of a wave, or files.
struct FrameChoice {
    unsigned waves = 0;        ///< frames of a scene that waves; 0: files
    std::string pattern = {};  ///< of files: frame_%d.obj, or frame_%03d.obj with leading zeros

    /// @throws UsageError for a text that is neither a number nor a pattern; none for an empty one.
    static FrameChoice parse(const std::string& text);
};

/// Those that `text` names. @throws UsageError, also if there is a text and none of these backends
/// builds frames.
FrameChoice choose_frames(const std::string& text, const std::vector<const Backend*>& backends);

/// The files of a pattern, numbered from 0 or 1 without gaps; none of a wave. @throws
/// scenes::SceneError for a file that is missing, or is numbered in another way than the pattern
/// says.
std::vector<std::string> frame_files(const FrameChoice& choice);

/// A file for each frame, by a pattern as those of frames: with the numbers of their files, or from
/// 0 on. @throws UsageError for a text that is no pattern, and as frame_files.
std::vector<std::string> numbered_files(const std::string& pattern, const FrameChoice& frames);

/// The frames, none if none were chosen. A wave moves every corner along y by up to a fiftieth of
/// the diagonal, depending on x; it has come back to its beginning after the last frame. Files are
/// numbered from 0 or 1 without gaps. @throws scenes::SceneError for a file that cannot be read, is
/// missing, or is numbered in another way than the pattern says. They are read on up to `threads`
/// threads (0: one a core).
std::vector<scenes::Scene> load_frames(const FrameChoice& choice, const scenes::Scene& scene,
                                       unsigned threads);

/// Builds the frames' trees with one builder, as the turn says but for its scene, and notes the
/// times in the result. Throws nothing: the result says what failed. Does nothing for one that has
/// failed.
void take_frames(const Backend& backend, const std::vector<scenes::Scene>& frames, const Turn& turn,
                 Result& result);

}  // namespace heapwood::app
