/// @file
/// What a worker process of a build in parts does: it makes its part of the top, and builds cells.
///
/// A request is a JSON object; what is large lies in files of a folder that all processes see. All
/// of a request's inputs are there or in the scene, so that any process can answer it, and answer
/// it twice: one that takes over from another brings the part to where it was by dividing it anew.
///
///     {"load": "bunny.obj"}                        -> {"digest": "..."}
///     {"part": 1, "of": 3, "levels": 2, ...}       -> {}  bins of the nodes that are open after 2
///     levels
///     {"part": 1, "of": 3, "levels": 5, "cells": 40, ...} -> {}  references of all cells
///     {"build": 7, "of": 3, ...}                   -> {}  the tree of a cell
///
/// "..." is {"round": N, "folder": path}; a build to another depth is another round.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "app/base/json.h"
#include "kdtree/config.h"
#include "kdtree/forest/local_workers.h"
#include "kdtree/forest/part.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// The files of a round.
class ForestFiles {
public:
    ForestFiles(std::filesystem::path folder, unsigned round);

    std::filesystem::path start() const { return named("start"); }
    /// What is decided on a level.
    std::filesystem::path decisions(unsigned level) const;
    /// A part's bins after so many levels.
    std::filesystem::path bins(unsigned levels, unsigned part) const;
    /// A part's references of a cell.
    std::filesystem::path references(unsigned cell, unsigned part) const;
    /// Rules, and all cells.
    std::filesystem::path orders() const { return named("orders"); }
    /// A cell's tree.
    std::filesystem::path tree(unsigned cell) const;

private:
    std::filesystem::path named(const std::string& name) const;

    std::filesystem::path folder_;
    std::string round_;
};

/// A cell's tree as a file. @throws std::runtime_error that names the file.
void write_cell(const std::filesystem::path& path, const kdtree::CellTree& cell);
kdtree::CellTree read_cell(const std::filesystem::path& path);

class PartServer {
public:
    PartServer(const kdtree::BuildConfig& config, const kdtree::LocalMachine& machine);

    /// Loads a scene. @return its digest, in hexadecimal digits. @throws scenes::SceneError.
    std::string load(const std::string& scene);

    /// Answers any other request. @throws std::exception.
    Json answer(const Json& request);

private:
    /// A part, and how far it is.
    struct Progress {
        kdtree::Part part;
        unsigned round;
        unsigned levels;
    };

    kdtree::Part& bring(const Json& request, const ForestFiles& files);
    void write_cells(const Json& request, const ForestFiles& files);
    void build(const Json& request, const ForestFiles& files);

    kdtree::BuildConfig config_;
    kdtree::LocalMachine machine_;
    allocators::ArrayPool pool_;
    scenes::Scene scene_;
    float normalisation_ = 1;
    std::map<unsigned, Progress> parts_;
};

}  // namespace heapwood::app
