/// @file
/// What a worker process of a build in parts does: it makes its part of the top, and builds cells.
///
/// A request is a JSON object; what is large lies in files of a folder that all processes see. All
/// of a request's inputs are there or in the scene, so that any process can answer it, and answer
/// it twice: one that takes over from another loads its share of the scene, and brings the part to
/// where it was by dividing it anew.
///
///     {"load": "bunny.obj", "part": 1, "of": 3, ...} -> {}  facts of this share
///     {"part": 1, "first": 23, "levels": 2, ...}  -> {}  bins of the nodes that are open after 2
///     levels; 23 triangles are in the parts before
///     {"part": 1, "first": 23, "levels": 5, "cells": 40, ...} -> {}  references of all cells
///     {"build": 7, "of": 3, ...}                  -> {}  the tree of a cell
///
/// "..." is {"round": N, "folder": path}; a build to another depth is another round. All answers
/// have {"peak": bytes}, the most that the process has had in memory. Processes that see no such
/// folder have one each, between which files_of() says what is to be carried.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/base/json.h"
#include "kdtree/config.h"
#include "kdtree/distributed/local_workers.h"
#include "kdtree/distributed/parts.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// The files of a round.
class ForestFiles {
public:
    ForestFiles(std::filesystem::path folder, unsigned round);

    /// scenes::SceneFacts of a part's share.
    std::filesystem::path facts(unsigned part) const;
    /// TopStart, and what coordinates are multiplied by.
    std::filesystem::path start() const { return named("start"); }
    /// What is decided on a level.
    std::filesystem::path decisions(unsigned level) const;
    /// A part's bins after so many levels.
    std::filesystem::path bins(unsigned levels, unsigned part) const;
    /// A part's references of a cell.
    std::filesystem::path references(unsigned cell, unsigned part) const;
    /// Rules, all cells, and what coordinates are multiplied by.
    std::filesystem::path orders() const { return named("orders"); }
    /// A cell's tree.
    std::filesystem::path tree(unsigned cell) const;

private:
    std::filesystem::path named(const std::string& name) const;

    std::filesystem::path folder_;
    std::string round_;
};

/// Names of the files of a request in its folder.
struct RequestFiles {
    std::vector<std::string> needed;
    std::vector<std::string> made;
};
/// What has to be brought to a process that has a folder of its own, and fetched from there.
RequestFiles files_of(const Json& request);

/// A cell's tree as a file. @throws std::runtime_error that names the file.
void write_cell(const std::filesystem::path& path, const kdtree::CellTree& cell);
kdtree::CellTree read_cell(const std::filesystem::path& path);

class PartServer {
public:
    PartServer(const kdtree::BuildConfig& config, const kdtree::LocalMachine& machine);

    /// Answers a request. @throws std::exception.
    Json answer(const Json& request);

private:
    /// The part, and how far it is.
    struct Progress {
        kdtree::Parts parts;
        unsigned round;
        unsigned levels;
    };

    void load(const Json& request, const ForestFiles& files);
    kdtree::Parts& bring(const Json& request, const ForestFiles& files);
    void write_cells(const Json& request, const ForestFiles& files);
    void build(const Json& request, const ForestFiles& files);

    kdtree::BuildConfig config_;
    kdtree::LocalMachine machine_;
    allocators::ArrayPool pool_;
    scenes::Scene scene_;  ///< the share of the part
    std::optional<Progress> progress_;
};

/// Makes parts of a build in parts, and builds its cells, until the parent is gone.
void serve_parts(const kdtree::BuildConfig& config, const kdtree::LocalMachine& machine);

}  // namespace heapwood::app
