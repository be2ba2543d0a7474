#include "app/distributed/remote_workers.h"

#include <algorithm>
#include <utility>

#include "allocators/memory/buffer.h"
#include "app/base/outcome.h"
#include "app/distributed/payload.h"
#include "kdtree/distributed/cell_place.h"
#include "kdtree/distributed/forest.h"
#include "scenes/limits.h"
#include "scenes/pieces.h"

namespace heapwood::app {

namespace {

/// Requests on their way to a process, whose socket holds only so many.
constexpr std::size_t kWindow = 16;

}  // namespace

RemoteWorkers::RemoteWorkers(std::string scene, std::uint32_t parts, std::filesystem::path folder,
                             MakePeer make, double seconds)
    : scene_(std::move(scene)),
      folder_(std::move(folder)),
      make_(std::move(make)),
      seconds_(seconds),
      places_(parts) {
    for (std::uint32_t part = 0; part < parts; ++part) places_[part].part = part;
}

scenes::SceneFacts RemoteWorkers::load() {
    for (Place& place : places_) begin(place);
    scenes::SceneFacts all;
    for (Place& place : places_) {
        await(place);
        place.first = all.triangles;
        all.append(*place.share);
    }
    if (all.triangles > scenes::kMaxTriangles) {
        throw scenes::SceneError(scene_ + ": " + std::to_string(all.triangles) +
                                 " triangles; a tree can hold " +
                                 std::to_string(scenes::kMaxTriangles));
    }
    normalisation_ = kdtree::forest_scene(all).normalisation;
    return all;
}

/// Asks, without waiting for the answer. @param triangles that the process has to go through.
void RemoteWorkers::post(Place& place, Json what, std::uint64_t triangles) const {
    what["of"] = parts();
    what["round"] = round_;
    what["folder"] = folder_.string();
    what["triangles"] = triangles;
    place.waiting.push_back(std::move(what));
    if (!place.peer) begin(place);
    pump(place);
}

void RemoteWorkers::pump(Place& place) const {
    while (place.sent.size() < kWindow && !place.waiting.empty()) {
        place.peer->send(place.waiting.front());
        place.sent.push_back(std::move(place.waiting.front()));
        place.waiting.pop_front();
    }
}

/// Starts a process, which is asked all that the former one has not answered.
void RemoteWorkers::begin(Place& place) const {
    place.peer = make_(place.part);
    if (place.sent.empty() || !place.sent.front().contains("load")) {
        place.sent.push_front(load_request(place));
    }
    for (const Json& request : place.sent) place.peer->send(request);
}

Json RemoteWorkers::load_request(const Place& place) const {
    return {{"load", scene_},
            {"part", place.part},
            {"of", parts()},
            {"round", round_},
            {"folder", folder_.string()},
            {"triangles", scenes::expected_triangles(scene_, parts())}};
}

/// Notes the facts of a share that a process has loaded.
void RemoteWorkers::take_share(Place& place) const {
    const auto facts = PayloadReader(files().facts(place.part)).take_one<scenes::SceneFacts>();
    if (place.share && !(*place.share == facts)) {
        throw std::runtime_error(scene_ +
                                 ": has changed since it was first read; run the build again");
    }
    place.share = facts;
}

/// Waits for the answer to the oldest request that is no load, or to that if it is the only one.
/// @throws scenes::SceneError for a share that cannot be loaded, std::runtime_error for another
/// failure, and for processes that end one after another.
void RemoteWorkers::await(Place& place) {
    for (bool loading = true; loading && !place.sent.empty();) {
        Json answer;
        try {
            answer = place.peer->receive(
                seconds_for(seconds_, place.sent.front().at("triangles"), place.failures));
        } catch (const PeerLost& lost) {
            ++lost_;
            if (++place.failures == kAttempts) {
                throw std::runtime_error("a worker process " + std::string(lost.what()) +
                                         ", and so did others in its place");
            }
            begin(place);
            continue;
        }
        loading = place.sent.front().contains("load");
        if (answer.contains("failure")) {
            const auto why = answer.at("failure").get<std::string>();
            if (loading && !answer.contains("outcome")) throw scenes::SceneError(why);
            if (answer.value("outcome", Outcome::failed) == Outcome::out_of_memory) {
                throw allocators::BufferError(why);
            }
            throw std::runtime_error(why);
        }
        peak_ = std::max(peak_, answer.value("peak", std::uint64_t{0}));
        if (loading) take_share(place);
        place.sent.pop_front();
        place.failures = loading ? place.failures : 0;
        pump(place);
    }
}

/// Asks all processes the same of their parts, and waits for them.
void RemoteWorkers::ask_all(const Json& what) {
    for (Place& place : places_) {
        Json request = what;
        request["part"] = place.part;
        request["first"] = place.first;
        request["levels"] = levels_;
        // One in the place of another goes through all levels.
        post(place, std::move(request), (levels_ + 1) * place.share->triangles);
    }
    for (Place& place : places_) await(place);
}

std::vector<kdtree::Bins> RemoteWorkers::bins() {
    ask_all(Json::object());
    std::vector<kdtree::Bins> sum;
    for (std::uint32_t part = 0; part < parts(); ++part) {
        PayloadReader file(files().bins(levels_, part));
        add_bins(sum, file.take<kdtree::Bins>());
    }
    return sum;
}

std::vector<kdtree::Bins> RemoteWorkers::start(const kdtree::TopStart& start) {
    // What a round that was given up has left is of no more use, nor are processes still at it.
    for (Place& place : places_) {
        if (place.sent.empty()) continue;
        place.peer.reset();
        place.sent.clear();
        place.waiting.clear();
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        std::filesystem::remove(entry.path());
    }
    ++round_;
    levels_ = 0;
    PayloadWriter file(files().start());
    file.add_one(start);
    file.add_one(normalisation_);
    file.finish();
    return bins();
}

std::vector<kdtree::Bins> RemoteWorkers::divide(std::span<const kdtree::Decision> decisions) {
    PayloadWriter file(files().decisions(levels_++));
    file.add(decisions);
    file.finish();
    return bins();
}

void RemoteWorkers::order(const kdtree::TreeRules& rules, std::vector<kdtree::CellOrder> cells) {
    cells_ = std::move(cells);
    next_ = 0;
    PayloadWriter file(files().orders());
    file.add_one(rules);
    file.add(cells_);
    file.add_one(normalisation_);
    file.finish();
    ask_all({{"cells", cells_.size()}});
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        post(places_[i % parts()], {{"build", cells_[i].number}}, cells_[i].node.count);
    }
}

kdtree::CellResult RemoteWorkers::next(const kdtree::CellPlace& place, kdtree::TreeSink& sink) {
    const std::size_t i = next_++;
    const std::uint32_t number = cells_.at(i).number;
    await(places_[i % parts()]);
    const kdtree::CellTree cell = read_cell(files().tree(number));
    std::filesystem::remove(files().tree(number));
    for (std::uint32_t part = 0; part < parts(); ++part) {
        std::filesystem::remove(files().references(number, part));
    }
    return put_cell(cell, place, sink);
}

}  // namespace heapwood::app
