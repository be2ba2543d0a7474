/// @file
/// The options of each verb, and those that verbs have in common.
#pragma once

#include "app/cli/cli.h"
#include "app/cli/options.h"

namespace heapwood::app {

/// Bytes that a machine may have.
inline constexpr Whole kAnyBytes{1, std::uint64_t{1} << 46};

/// Seconds of every --time-limit.
inline constexpr Real kTimeLimit{.open = true, .most = 1e6F};

/// The options of the verbs, but for those of add_output.
void add_build(Options& options, BuildOptions& o);
void add_compare(Options& options, CompareOptions& o);
void add_bench(Options& options, BenchOptions& o);
void add_replay(Options& options, ReplayOptions& o);
void add_trace(Options& options, TraceOptions& o);
void add_render(Options& options, RenderOptions& o);
void add_inspect(Options& options, InspectOptions& o);

/// What `render` and `inspect` have in common: a tree file, or a scene and how its tree is built.
void add_tree(Options& options, TreeParameters& o);

/// The formats of results: --json, --html, --csv, --markdown and --latex.
void add_output(Options& options, OutputOptions& output);

/// @throws UsageError for two formats on standard output.
void check(const OutputOptions& output);

/// --allocator, the options of allocators, with their defaults, --device and --threads.
/// @param what the help says of --allocator
void add_run(Options& options, RunParameters& o, allocators::Choices& choices, unsigned& threads,
             const char* what);

/// --resume.
void add_resume(Options& options, RunParameters& o);

/// --frames, of an animation. @param what the help says of it
Options& add_frames(Options& options, std::string& frames, const char* what);

/// --pool, of one size.
void add_pool(Options& options, std::optional<PoolSize>& pool, const char* what);

}  // namespace heapwood::app
