/// @file
/// Options that verbs have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/cli/cli.h"

namespace heapwood::app {

/// Lets every option of a verb that has a long name and no variable yet be given by the environment
/// too: --warm-up by HEAPWOOD_WARM_UP. Options without a group are nobody's to know, and get none.
void name_environment(CLI::App& verb);

/// What every verb and the program itself take.
struct Volume {
    bool quiet = false;
    int verbose = 0;

    void add_to(CLI::App& verb);
    /// -1 quiet, 0 normal, 1 and more verbose.
    int level() const { return quiet ? -1 : verbose; }
};

/// The formats of results: --json, --html, --csv, --markdown and --latex.
void add_output(CLI::App& verb, OutputOptions& output);

/// Everything that says how trees are built and timed, but for scenes and pools.
void add_build_parameters(CLI::App& verb, BuildParameters& parameters);

/// --allocator. @param names with the default.
void add_allocators(CLI::App& verb, std::vector<std::string>& names, const char* what);

/// --resume.
void add_resume(CLI::App& verb, std::string& file);

/// A pool's size. @throws CLI::ValidationError.
PoolSize pool_size(const std::string& text);

/// The options of allocators, with their defaults.
void add_choices(CLI::App& verb, allocators::Choices& choices);

/// Which of the options that were given are for allocators alone, as typed.
std::vector<std::string> allocator_options(const CLI::App& verb);

}  // namespace heapwood::app
