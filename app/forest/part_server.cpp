#include "app/forest/part_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "app/base/text.h"
#include "app/forest/payload.h"
#include "kdtree/forest/forest.h"
#include "scenes/digest.h"

namespace heapwood::app {

ForestFiles::ForestFiles(std::filesystem::path folder, unsigned round)
    : folder_(std::move(folder)), round_(std::to_string(round)) {}

std::filesystem::path ForestFiles::named(const std::string& name) const {
    return folder_ / (name + "-" + round_);
}
std::filesystem::path ForestFiles::decisions(unsigned level) const {
    return named("decisions-" + std::to_string(level));
}
std::filesystem::path ForestFiles::bins(unsigned levels, unsigned part) const {
    return named("bins-" + std::to_string(levels) + "-" + std::to_string(part));
}
std::filesystem::path ForestFiles::references(unsigned cell, unsigned part) const {
    return named("cell-" + std::to_string(cell) + "-" + std::to_string(part));
}
std::filesystem::path ForestFiles::tree(unsigned cell) const {
    return named("tree-" + std::to_string(cell));
}

void write_cell(const std::filesystem::path& path, const kdtree::CellTree& cell) {
    PayloadWriter file;
    file.add(std::vector{cell.status});
    file.add(std::vector<char>(cell.message.begin(), cell.message.end()));
    file.add(std::vector{cell.tree.bounds});
    file.add(cell.tree.nodes);
    file.add(cell.tree.references);
    file.add(cell.numbers);
    file.write(path);
}

kdtree::CellTree read_cell(const std::filesystem::path& path) {
    PayloadReader file(path);
    kdtree::CellTree cell;
    cell.status = file.take_one<kdtree::Status>();
    const std::vector<char> message = file.take<char>();
    cell.message.assign(message.begin(), message.end());
    cell.tree.bounds = file.take_one<kdtree::Box>();
    cell.tree.nodes = file.take<kdtree::Node>();
    cell.tree.references = file.take<std::uint32_t>();
    cell.numbers = file.take<std::uint32_t>();
    return cell;
}

PartServer::PartServer(const kdtree::BuildConfig& config, const kdtree::LocalMachine& machine)
    : config_(config),
      machine_(machine),
      pool_(machine.gpu ? allocators::Place::device : allocators::Place::host) {}

std::string PartServer::load(const std::string& scene) {
    parts_.clear();
    scene_ = scenes::load(scene);
    normalisation_ = kdtree::forest_scene(scene_).normalisation;
    return hex(digest(scene_));
}

Json PartServer::answer(const Json& request) {
    const ForestFiles files(request.at("folder").get<std::string>(), request.at("round"));
    if (request.contains("build")) {
        build(request, files);
    } else if (request.contains("cells")) {
        write_cells(request, files);
    } else {
        bring(request, files);
    }
    return Json::object();
}

/// The part after so many levels, whose last bins are written.
kdtree::Part& PartServer::bring(const Json& request, const ForestFiles& files) {
    const unsigned number = request.at("part");
    const unsigned of = request.at("of");
    const unsigned round = request.at("round");
    const unsigned levels = request.at("levels");
    auto found = parts_.find(number);
    const auto write = [&](const std::vector<kdtree::Bins>& bins, unsigned after) {
        if (after != levels) return;
        PayloadWriter file;
        file.add(bins);
        file.write(files.bins(levels, number));
    };
    const bool goes_on =
        found != parts_.end() && found->second.round == round && found->second.levels <= levels;
    if (!goes_on) {
        const std::uint64_t n = scene_.triangles.size();
        const kdtree::TriangleRange range{.scene = &scene_,
                                          .begin = kdtree::range_begin(n, number, of),
                                          .end = kdtree::range_begin(n, number + 1, of)};
        parts_.erase(number);
        found = parts_
                    .emplace(number,
                             Progress{kdtree::Part(range, normalisation_, config_.clip), round, 0})
                    .first;
        write(found->second.part.start(PayloadReader(files.start()).take_one<kdtree::TopStart>()),
              0);
    }
    Progress& progress = found->second;
    for (; progress.levels < levels; ++progress.levels) {
        const auto decisions =
            PayloadReader(files.decisions(progress.levels)).take<kdtree::Decision>();
        write(progress.part.divide(decisions), progress.levels + 1);
    }
    return progress.part;
}

void PartServer::write_cells(const Json& request, const ForestFiles& files) {
    const unsigned number = request.at("part");
    const unsigned cells = request.at("cells");
    kdtree::Part& part = bring(request, files);
    for (unsigned cell = 0; cell < cells; ++cell) {
        const kdtree::CellReferences taken = part.take(cell);
        PayloadWriter file;
        file.add(taken.references);
        file.add(taken.triangles);
        file.add(taken.numbers);
        file.write(files.references(cell, number));
    }
    parts_.erase(number);
}

void PartServer::build(const Json& request, const ForestFiles& files) {
    const unsigned number = request.at("build");
    const unsigned of = request.at("of");
    PayloadReader orders(files.orders());
    const auto rules = orders.take_one<kdtree::TreeRules>();
    const auto cells = orders.take<kdtree::CellOrder>();
    const auto cell = std::ranges::find(cells, number, &kdtree::CellOrder::number);
    if (cell == cells.end()) throw std::runtime_error("no cell " + std::to_string(number));
    kdtree::CellReferences all;
    for (unsigned part = 0; part < of; ++part) {
        PayloadReader file(files.references(number, part));
        kdtree::CellReferences some;
        some.references = file.take<kdtree::Reference>();
        some.triangles = file.take<kdtree::Triangle>();
        some.numbers = file.take<std::uint32_t>();
        all.append(some);
    }
    write_cell(files.tree(number),
               kdtree::build_cell(all, *cell, rules, normalisation_, config_, machine_, pool_));
}

}  // namespace heapwood::app
