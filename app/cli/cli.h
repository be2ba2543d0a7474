/// @file
/// The command line as data: what a user asked for, before anything is done about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/backends/backend.h"
#include "app/base/exit_code.h"
#include "app/base/pool_size.h"
#include "app/measure/options.h"
#include "app/measure/workloads/sweeps/sweeps.h"
#include "app/render/settings.h"
#include "scenes/glm.h"

namespace heapwood::app {

/// Where results go, and as what. Without any of them: tables on standard output.
struct OutputOptions {
    std::string json;  ///< file, or "-" for standard output alone; empty: none
    bool csv = false;
    bool markdown = false;
    bool latex = false;
    std::string html;      ///< file for a page of the results; empty: none
    bool details = false;  ///< the whole of a text; only where a verb offers a screenful
};

/// Where to build.
enum class DeviceChoice { automatic, gpu, cpu };

/// What all verbs that measure have in common.
struct RunParameters {
    std::vector<std::string> arguments;          ///< the whole command line, for the report
    std::vector<std::string> allocators{"all"};  ///< names; "all": the sound ones
    /// The options given that are for the allocators of the single kernel alone, as messages name
    /// them (Options::giver).
    std::vector<std::string> allocator_options;
    DeviceChoice device = DeviceChoice::automatic;
    std::string resume;  ///< file of an earlier run to go on from, or to be made; or empty
    OutputOptions output;
};

/// How trees are built and timed, and with what: all that verbs which build have in common.
struct BuildParameters : RunParameters {
    std::string verb;  ///< its name
    /// What gave the allocators and the methods (Options::giver).
    std::string allocator_giver;
    std::string method_giver;
    std::vector<Method> methods{Method::single};
    MeasureOptions measure;
};

/// Those of one scene.
struct SceneParameters : BuildParameters {
    SceneParameters() { allocators = {"cambium"}; }

    std::string scene;
    /// Unset: default_pool_bytes.
    std::optional<PoolSize> pool;
};

/// `heapwood build`.
struct BuildOptions : SceneParameters {
    GrowthChoice growth;
    std::string trace;   ///< file for the requests and frees of a build; empty: none
    std::string out;     ///< file for the tree; empty: none
    std::string frames;  ///< as FrameChoice::parse reads them; empty: none
    /// Bytes that the build may take: then it is one in parts, by this process.
    std::optional<std::uint64_t> memory;
    /// Processes that share a build in parts; 0: this one is not shared.
    std::uint32_t parts = 0;
    /// GPUs of these processes, or of this one, by CUDA's numbers; none: the one that CUDA chooses.
    std::vector<std::uint32_t> devices;
    /// Whether the build is one in parts.
    bool in_parts() const { return memory || parts > 0 || !devices.empty(); }
    /// Seconds that such a process has at least for an answer.
    double time_limit = 60;
    /// The options given that a build in parts has no use for, as messages name them.
    std::vector<std::string> whole_options;
};

/// `heapwood trace`.
struct TraceOptions : SceneParameters {
    TraceOptions() { measure.run.statistics = false; }

    std::vector<std::string> beside;  ///< presets whose trees are traced, too
    std::string frames;               ///< as FrameChoice::parse reads them; empty: none
    RayOptions rays;
};

/// Those of verbs that look at one tree, which is read from a file or built once.
struct TreeParameters : SceneParameters {
    TreeParameters() {
        measure.run.statistics = false;
        measure.run.repeat = 1;
        measure.run.warm_up = 0;
    }
};

/// `heapwood render`.
struct RenderOptions : TreeParameters {
    std::string out;     ///< file for the picture, or with frames a pattern of files
    std::string frames;  ///< as FrameChoice::parse reads them; empty: none
    RenderSettings settings;
    /// Unset: see camera_of.
    std::optional<glm::vec3> eye;
    std::optional<glm::vec3> target;
    std::optional<glm::vec3> up;
    std::optional<float> field_of_view;  ///< degrees
};

/// `heapwood inspect`.
struct InspectOptions : TreeParameters {
    std::string boxes;      ///< file for the boxes of nodes; empty: none
    unsigned depth = 8;     ///< of the deepest of these nodes
    unsigned longest = 10;  ///< rows of lists of the worst
};

/// `heapwood compare`.
struct CompareOptions : BuildParameters {
    ComparisonOptions compared;
};

/// What `bench` and `replay` have in common.
struct WorkloadParameters : RunParameters {
    WorkloadOptions run;
};

/// `heapwood bench`.
struct BenchOptions : WorkloadParameters {
    std::vector<std::string> tests;             ///< names, or "all"
    std::optional<std::uint32_t> blocks = 120;  ///< of AD, ACD, P; none: eight a multiprocessor
    std::optional<unsigned> repeat;
    std::optional<double> time_limit;  ///< seconds
    std::string sizes;                 ///< file: a trace, whose sizes churn has; empty: a power law
    std::string graph;                 ///< file: a Matrix Market file; empty: graphs by rule
    bool published = false;
};

/// `heapwood replay`.
struct ReplayOptions : WorkloadParameters {
    ReplayOptions() {
        run.repeat = 5;
        run.time_limit = 60;
    }

    std::string trace;  ///< file
    /// Unset: default_pool_bytes.
    std::optional<PoolSize> pool;
    double pace = 0;  ///< how many times as fast as recorded; 0: without pauses
};

/// `heapwood worker RUNNER VERB ...`, the process of a runner; users do not call it.
struct WorkerOptions {
    std::string runner;  ///< an allocator's name, or that of a way without
    std::variant<CompareOptions, BenchOptions, ReplayOptions, BuildOptions> verb;
};

/// `heapwood list`.
struct ListOptions {
    OutputOptions output;
    std::string schema;  ///< of which document the schema is wanted instead; empty: of none
};

/// Nothing is left to do: help or version was shown (done), or an error was reported (usage).
struct Exit {
    ExitCode code = ExitCode::done;
};

/// A command line that was understood.
struct CommandLine {
    std::variant<Exit, BuildOptions, CompareOptions, BenchOptions, ReplayOptions, WorkerOptions,
                 TraceOptions, RenderOptions, InspectOptions, ListOptions>
        verb;
    int verbosity = 0;  ///< -1 quiet, 0 normal, 1 verbose
};

/// Reads the command line and the HEAPWOOD_* environment; the command line wins. Answers help,
/// --version and mistakes itself.
CommandLine parse(int argc, const char* const* argv);

}  // namespace heapwood::app
