/// @file
/// The coordinator's side of a build in parts by several processes (part_server.h). One that ends
/// early costs what it was at: another is started in its place, and asked the same.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/base/json.h"
#include "app/forest/part_server.h"
#include "kdtree/forest/workers.h"

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
    /// Waits for the next answer, or {"failure": why}. @throws PeerLost.
    virtual Json receive() = 0;
};

/// Makes one that has loaded nothing.
using MakePeer = std::function<std::unique_ptr<Peer>()>;

/// A build is given up when so many processes in the same place have ended without an answer.
inline constexpr unsigned kAttempts = 3;

class RemoteWorkers final : public kdtree::Workers {
public:
    /// @param scene what each process loads, which must have that digest.
    /// @param folder for files, which is there and empty.
    RemoteWorkers(std::string scene, std::string digest, std::uint32_t parts,
                  std::filesystem::path folder, MakePeer make);

    std::uint32_t parts() const override { return static_cast<std::uint32_t>(places_.size()); }
    std::vector<kdtree::Bins> start(const kdtree::TopStart& start) override;
    std::vector<kdtree::Bins> divide(std::span<const kdtree::Decision> decisions) override;
    void order(const kdtree::TreeRules& rules, std::vector<kdtree::CellOrder> cells) override;
    kdtree::CellTree next() override;

    /// How many processes ended early.
    std::uint32_t lost() const { return lost_; }

private:
    /// The process of a part, and what it is asked.
    struct Place {
        std::unique_ptr<Peer> peer;  ///< nullptr: to be started
        std::deque<Json> sent;       ///< and not yet answered
        std::deque<Json> waiting;
        unsigned failures = 0;  ///< since the last answer
    };

    ForestFiles files() const { return {folder_, round_}; }
    void post(Place& place, Json what) const;
    void pump(Place& place) const;
    void begin(Place& place) const;
    void await(Place& place);
    void ask_all(const Json& what);
    std::vector<kdtree::Bins> bins();

    std::string scene_;
    std::string digest_;
    std::filesystem::path folder_;
    MakePeer make_;
    std::vector<Place> places_;
    std::uint32_t lost_ = 0;
    unsigned round_ = 0;
    unsigned levels_ = 0;
    std::vector<kdtree::CellOrder> cells_;
    std::size_t next_ = 0;
};

}  // namespace heapwood::app
