#include "app/forest/remote_workers.h"

#include <utility>

#include "app/forest/payload.h"

namespace heapwood::app {

namespace {

/// Requests on their way to a process, whose socket holds only so many.
constexpr std::size_t kWindow = 16;

}  // namespace

RemoteWorkers::RemoteWorkers(std::string scene, std::string digest, std::uint32_t parts,
                             std::filesystem::path folder, MakePeer make)
    : scene_(std::move(scene)),
      digest_(std::move(digest)),
      folder_(std::move(folder)),
      make_(std::move(make)),
      places_(parts) {}

/// Asks, without waiting for the answer.
void RemoteWorkers::post(Place& place, Json what) const {
    what["of"] = parts();
    what["round"] = round_;
    what["folder"] = folder_.string();
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
    place.peer = make_();
    if (place.sent.empty() || !place.sent.front().contains("load")) {
        place.sent.push_front({{"load", scene_}});
    }
    for (const Json& request : place.sent) place.peer->send(request);
}

/// Waits for the answer to the oldest request. @throws std::runtime_error for a failure, and for
/// processes that end one after another.
void RemoteWorkers::await(Place& place) {
    for (bool loading = true; loading;) {
        Json answer;
        try {
            answer = place.peer->receive();
        } catch (const PeerLost& lost) {
            ++lost_;
            if (++place.failures == kAttempts) {
                throw std::runtime_error("a worker process " + std::string(lost.what()) +
                                         ", and so did others in its place");
            }
            begin(place);
            continue;
        }
        if (answer.contains("failure")) {
            throw std::runtime_error(answer.at("failure").get<std::string>());
        }
        loading = place.sent.front().contains("load");
        if (loading && answer.value("digest", "") != digest_) {
            throw std::runtime_error(scene_ +
                                     ": has changed since it was first read; run the build again");
        }
        place.sent.pop_front();
        place.failures = loading ? place.failures : 0;
        pump(place);
    }
}

/// Asks all processes the same of their parts, and waits for them.
void RemoteWorkers::ask_all(const Json& what) {
    for (std::uint32_t part = 0; part < parts(); ++part) {
        Json request = what;
        request["part"] = part;
        request["levels"] = levels_;
        post(places_[part], std::move(request));
    }
    for (Place& place : places_) await(place);
}

std::vector<kdtree::Bins> RemoteWorkers::bins() {
    ask_all(Json::object());
    std::vector<kdtree::Bins> sum;
    for (std::uint32_t part = 0; part < parts(); ++part) {
        add_bins(sum, PayloadReader(files().bins(levels_, part)).take<kdtree::Bins>());
    }
    return sum;
}

std::vector<kdtree::Bins> RemoteWorkers::start(const kdtree::TopStart& start) {
    // What a round that was given up has left is of no more use, nor are processes still at it.
    for (Place& place : places_) {
        if (!place.sent.empty()) place = {};
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        std::filesystem::remove(entry.path());
    }
    ++round_;
    levels_ = 0;
    PayloadWriter file;
    file.add(std::vector{start});
    file.write(files().start());
    return bins();
}

std::vector<kdtree::Bins> RemoteWorkers::divide(std::span<const kdtree::Decision> decisions) {
    PayloadWriter file;
    file.add(std::vector<kdtree::Decision>(decisions.begin(), decisions.end()));
    file.write(files().decisions(levels_++));
    return bins();
}

void RemoteWorkers::order(const kdtree::TreeRules& rules, std::vector<kdtree::CellOrder> cells) {
    cells_ = std::move(cells);
    next_ = 0;
    PayloadWriter file;
    file.add(std::vector{rules});
    file.add(cells_);
    file.write(files().orders());
    ask_all({{"cells", cells_.size()}});
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        post(places_[i % parts()], {{"build", cells_[i].number}});
    }
}

kdtree::CellTree RemoteWorkers::next() {
    const std::size_t i = next_++;
    const std::uint32_t number = cells_.at(i).number;
    await(places_[i % parts()]);
    kdtree::CellTree cell = read_cell(files().tree(number));
    std::filesystem::remove(files().tree(number));
    for (std::uint32_t part = 0; part < parts(); ++part) {
        std::filesystem::remove(files().references(number, part));
    }
    return cell;
}

}  // namespace heapwood::app
