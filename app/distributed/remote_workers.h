/// @file
/// The coordinator's side of a build in parts by several processes (part_server.h). One that ends
/// early, or does not answer in time, costs what it was at: another is started in its place, and
/// asked the same.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/base/json.h"
#include "app/distributed/part_server.h"
#include "kdtree/distributed/workers.h"
#include "scenes/facts.h"

namespace heapwood::app {

/// Thrown by a peer that is gone; what() says how.
class PeerLost : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A worker process. It answers requests in the order in which they are sent.
class Peer {
public:
    virtual ~Peer() = default;
    /// Whether it arrives is seen when the answer is awaited.
    virtual void send(const Json& request) = 0;
    /// Waits for the next answer, or {"failure": why} (app/measure/engine/worker.h), at most
    /// `seconds`.
    /// @throws PeerLost.
    virtual Json receive(double seconds) = 0;
};

/// Makes one for a part, which has loaded nothing.
using MakePeer = std::function<std::unique_ptr<Peer>(std::uint32_t part)>;

/// A build is given up when so many processes in the same place have ended without an answer.
inline constexpr unsigned kAttempts = 3;

/// Seconds after which a process is taken to hang, counted from when its answer is awaited.
/// @param least for a request of no triangles
/// @param failures of processes that were asked the same: one that is only slow gets more time
inline double seconds_for(double least, std::uint64_t triangles, unsigned failures) {
    constexpr double kEach = 1e-4;  // 30 times what building takes, on a core
    return (least + kEach * static_cast<double>(triangles)) * (1U << failures);
}

class RemoteWorkers final : public kdtree::Workers {
public:
    /// @param scene of which each process loads its share.
    /// @param folder for files, which is there and empty.
    /// @param seconds of seconds_for(), at least.
    RemoteWorkers(std::string scene, std::uint32_t parts, std::filesystem::path folder,
                  MakePeer make, double seconds);

    /// Lets each process load its share, before anything else. A process in the place of another
    /// must find the same. @return the facts of the whole scene.
    /// @throws scenes::SceneError for what a process says of its share.
    scenes::SceneFacts load();

    std::uint32_t parts() const override { return static_cast<std::uint32_t>(places_.size()); }
    std::vector<kdtree::Bins> start(const kdtree::TopStart& start) override;
    std::vector<kdtree::Bins> divide(std::span<const kdtree::Decision> decisions) override;
    void order(const kdtree::TreeRules& rules, std::vector<kdtree::CellOrder> cells) override;
    kdtree::CellResult next(const kdtree::CellPlace& place, kdtree::TreeSink& sink) override;

    /// How many processes ended early, or were ended because they did not answer.
    std::uint32_t lost() const { return lost_; }
    /// Bytes that one of the processes had in memory, at most.
    std::uint64_t peak() const { return peak_; }

private:
    /// The process of a part, and what it is asked.
    struct Place {
        std::uint32_t part = 0;
        std::optional<scenes::SceneFacts> share;  ///< once it has been loaded
        std::uint64_t first = 0;                  ///< triangles in the parts before
        std::unique_ptr<Peer> peer;               ///< nullptr: to be started
        std::deque<Json> sent;                    ///< and not yet answered
        std::deque<Json> waiting;
        unsigned failures = 0;  ///< since the last answer
    };

    ForestFiles files() const { return {folder_, round_}; }
    void post(Place& place, Json what, std::uint64_t triangles) const;
    void pump(Place& place) const;
    void begin(Place& place) const;
    Json load_request(const Place& place) const;
    void await(Place& place);
    void take_share(Place& place) const;
    void ask_all(const Json& what);
    std::vector<kdtree::Bins> bins();

    std::string scene_;
    std::filesystem::path folder_;
    MakePeer make_;
    double seconds_;
    float normalisation_ = 1;
    std::vector<Place> places_;
    std::uint64_t peak_ = 0;
    std::uint32_t lost_ = 0;
    unsigned round_ = 0;
    unsigned levels_ = 0;
    std::vector<kdtree::CellOrder> cells_;
    std::size_t next_ = 0;
};

}  // namespace heapwood::app
