#include "app/distributed/part_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "app/base/peak.h"
#include "app/distributed/payload.h"
#include "app/measure/engine/worker.h"
#include "scenes/pieces.h"

namespace heapwood::app {
ForestFiles::ForestFiles(std::filesystem::path folder, unsigned round)
    : folder_(std::move(folder)), round_(std::to_string(round)) {}

std::filesystem::path ForestFiles::named(const std::string& name) const {
    return folder_ / (name + "-" + round_);
}
std::filesystem::path ForestFiles::facts(unsigned part) const {
    return named("facts-" + std::to_string(part));
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

RequestFiles files_of(const Json& request) {
    const ForestFiles files("", request.at("round"));
    const auto part = [&] { return request.at("part").get<unsigned>(); };
    if (request.contains("load")) return {.needed = {}, .made = {files.facts(part())}};
    if (request.contains("build")) {
        const unsigned cell = request.at("build");
        RequestFiles all{.needed = {files.orders()}, .made = {files.tree(cell)}};
        for (unsigned other = 0; other < request.at("of"); ++other) {
            all.needed.push_back(files.references(cell, other));
        }
        return all;
    }
    const unsigned levels = request.at("levels");
    RequestFiles all{.needed = {files.start()}, .made = {}};
    for (unsigned level = 0; level < levels; ++level) all.needed.push_back(files.decisions(level));
    if (!request.contains("cells")) {
        all.made.push_back(files.bins(levels, part()));
        return all;
    }
    for (unsigned cell = 0; cell < request.at("cells"); ++cell) {
        all.made.push_back(files.references(cell, part()));
    }
    return all;
}

void write_cell(const std::filesystem::path& path, const kdtree::CellTree& cell) {
    PayloadWriter file(path);
    file.add_one(cell.status);
    file.add(std::span<const char>(cell.message));
    file.add_one(cell.tree.bounds);
    file.add(cell.tree.nodes);
    file.add(cell.tree.references);
    file.add(cell.numbers);
    file.finish();
}

kdtree::CellTree read_cell(const std::filesystem::path& path) {
    PayloadReader file(path);
    kdtree::CellTree cell;
    cell.status = file.take_one<kdtree::Status>();
    const std::span<const char> message = file.take<char>();
    cell.message.assign(message.begin(), message.end());
    cell.tree.bounds = file.take_one<kdtree::Box>();
    cell.tree.nodes = file.take_copy<kdtree::Node>();
    cell.tree.references = file.take_copy<std::uint32_t>();
    cell.numbers = file.take_copy<std::uint32_t>();
    return cell;
}

PartServer::PartServer(const kdtree::BuildConfig& config, const kdtree::LocalMachine& machine)
    : config_(config),
      machine_(machine),
      pool_(machine.gpu ? allocators::Place::device : allocators::Place::host) {}

void PartServer::load(const Json& request, const ForestFiles& files) {
    const unsigned number = request.at("part");
    progress_.reset();
    scene_ = {};  // never two at once
    scenes::Share share =
        scenes::load_share(request.at("load"), number, request.at("of"), machine_.threads);
    scene_ = std::move(share.scene);
    PayloadWriter file(files.facts(number));
    file.add_one(share.facts);
    file.finish();
}

Json PartServer::answer(const Json& request) {
    const ForestFiles files(request.at("folder").get<std::string>(), request.at("round"));
    if (request.contains("load")) {
        load(request, files);
    } else if (request.contains("build")) {
        build(request, files);
    } else if (request.contains("cells")) {
        write_cells(request, files);
    } else {
        bring(request, files);
    }
    return {{"peak", peak_bytes()}};
}

/// The part after so many levels, whose last bins are written.
kdtree::Parts& PartServer::bring(const Json& request, const ForestFiles& files) {
    const unsigned number = request.at("part");
    const unsigned round = request.at("round");
    const unsigned levels = request.at("levels");
    const auto write = [&](const std::vector<kdtree::Bins>& bins, unsigned after) {
        if (after != levels) return;
        PayloadWriter file(files.bins(levels, number));
        file.add(bins);
        file.finish();
    };
    if (!progress_ || progress_->round != round || progress_->levels > levels) {
        PayloadReader file(files.start());
        const auto start = file.take_one<kdtree::TopStart>();
        const auto normalisation = file.take_one<float>();
        const kdtree::TriangleRange share{
            .scene = &scene_,
            .begin = 0,
            .end = static_cast<std::uint32_t>(scene_.triangles.size()),
            .offset = request.at("first")};
        progress_ = {
            kdtree::Parts(share, normalisation, config_.clip,
                          kdtree::part_count(share.end, machine_.threads), machine_.threads),
            round, 0};
        write(progress_->parts.start(start), 0);
    }
    for (unsigned& level = progress_->levels; level < levels; ++level) {
        PayloadReader decisions(files.decisions(level));
        write(progress_->parts.divide(decisions.take<kdtree::Decision>()), level + 1);
    }
    return progress_->parts;
}

void PartServer::write_cells(const Json& request, const ForestFiles& files) {
    const unsigned number = request.at("part");
    const unsigned cells = request.at("cells");
    kdtree::Parts& parts = bring(request, files);
    for (unsigned cell = 0; cell < cells; ++cell) {
        const kdtree::CellReferences taken = parts.take(cell);
        PayloadWriter file(files.references(cell, number));
        file.add(taken.references);
        file.add(taken.triangles);
        file.add(taken.numbers);
        file.finish();
    }
    progress_.reset();
}

void PartServer::build(const Json& request, const ForestFiles& files) {
    const unsigned number = request.at("build");
    const unsigned of = request.at("of");
    PayloadReader orders(files.orders());
    const auto rules = orders.take_one<kdtree::TreeRules>();
    const std::span<const kdtree::CellOrder> cells = orders.take<kdtree::CellOrder>();
    const auto normalisation = orders.take_one<float>();
    const auto cell = std::ranges::find(cells, number, &kdtree::CellOrder::number);
    if (cell == cells.end()) throw std::runtime_error("no cell " + std::to_string(number));
    kdtree::CellReferences all;
    all.reserve(cell->node.count);
    for (unsigned part = 0; part < of; ++part) {
        PayloadReader file(files.references(number, part));
        const auto references = file.take<kdtree::Reference>();
        const auto triangles = file.take<kdtree::Triangle>();
        all.append(references, triangles, file.take<std::uint32_t>());
    }
    write_cell(files.tree(number),
               kdtree::build_cell(all, *cell, rules, normalisation, config_, machine_, pool_));
}

void serve_parts(const kdtree::BuildConfig& config, const kdtree::LocalMachine& machine) {
    PartServer server(config, machine);
    serve([&](const Json& request) { return server.answer(request); });
}

}  // namespace heapwood::app
