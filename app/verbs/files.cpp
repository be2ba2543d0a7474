#include "app/verbs/files.h"

#include "app/measure/builds/frames.h"
#include "app/measure/engine/engine.h"
#include "scenes/scene_list.h"

namespace heapwood::app {
namespace {

void add(std::vector<NamedFile>& to, const std::vector<NamedFile>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

RunFiles of_results(const OutputOptions& output) {
    return {.inputs = {}, .outputs = {{"--json", output.json}, {"--html", output.html}}};
}

/// Of a verb that reads one scene.
RunFiles of_scene(const SceneParameters& options) {
    RunFiles files = of_results(options.output);
    files.inputs = files_of_scene(options.scene);
    return files;
}

/// Of a verb that keeps a journal.
RunFiles of_turns(const RunParameters& options) {
    RunFiles files = of_results(options.output);
    const std::string& results = results_file(options.output.json, options.output.html);
    add(files.outputs,
        {{"--resume", options.resume},
         {"the journal", options.resume.empty() ? partial_file(results) : std::string()}});
    return files;
}

void add_frames(RunFiles& files, const FrameChoice& frames) {
    for (const std::string& file : frame_files(frames)) add(files.inputs, files_of_scene(file));
}

}  // namespace

std::vector<NamedFile> files_of_scene(const std::string& name) {
    std::vector<NamedFile> files;
    for (const std::string& file : scenes::files_of(name)) {
        files.push_back({file == name ? "the scene" : "the scene's file", file});
    }
    return files;
}

RunFiles files_of(const BuildOptions& options) {
    RunFiles files = of_scene(options);
    add_frames(files, FrameChoice::parse(options.frames));
    add(files.outputs, {{"--trace", options.trace}, {"--out", options.out}});
    return files;
}

RunFiles files_of(const CompareOptions& options) {
    RunFiles files = of_turns(options);
    for (const std::string& scene : options.compared.scenes)
        add(files.inputs, files_of_scene(scene));
    return files;
}

RunFiles files_of(const BenchOptions& options) {
    RunFiles files = of_turns(options);
    files.inputs = {{"the trace", options.sizes}, {"the graph", options.graph}};
    return files;
}

RunFiles files_of(const ReplayOptions& options) {
    RunFiles files = of_turns(options);
    files.inputs = {{"the trace", options.trace}};
    return files;
}

RunFiles files_of(const TraceOptions& options) {
    RunFiles files = of_scene(options);
    add_frames(files, FrameChoice::parse(options.frames));
    return files;
}

RunFiles files_of(const RenderOptions& options) {
    RunFiles files = of_scene(options);
    if (options.frames.empty()) {
        files.outputs.push_back({"--out", options.out});
        return files;
    }
    const FrameChoice frames = FrameChoice::parse(options.frames);
    add_frames(files, frames);
    for (const std::string& file : numbered_files(options.out, frames)) {
        files.outputs.push_back({"--out", file});
    }
    return files;
}

RunFiles files_of(const InspectOptions& options) {
    RunFiles files = of_scene(options);
    files.outputs.push_back({"--boxes", options.boxes});
    return files;
}

RunFiles files_of(const ListOptions& options) {
    return of_results(options.output);
}

}  // namespace heapwood::app
