/// @file
/// A build in parts by several processes, of which some end early: the right tree, or an error.
#include "app/forest/remote_workers.h"

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <optional>
#include <random>

#include "app/base/text.h"
#include "kdtree/forest/forest.h"
#include "scenes/digest.h"
#include "tests/app/temporary_folder.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/seed.h"

namespace heapwood::app {
namespace {

constexpr const char* kScene = "gen:sphere:1500";

kdtree::BuildConfig small_cells() {
    kdtree::BuildConfig config;
    config.exact_limit = config.snap_limit = 16;
    return config;
}

/// What goes wrong at a certain request, counted over all processes.
struct Fault {
    enum class When { before, after } when = When::before;
    std::optional<unsigned> at = {};  ///< nothing: it goes well
    unsigned times = 1;               ///< that process, and those in its place
    unsigned requests = 0;
    unsigned answered = 0;
};

/// A process without a process.
class FaultyPeer final : public Peer {
public:
    FaultyPeer(const kdtree::BuildConfig& config, Fault& fault)
        : server_(config, {.threads = 1}), fault_(fault) {}

    void send(const Json& request) override { requests_.push_back(request); }
    Json receive() override {
        const Json request = requests_.front();
        requests_.pop_front();
        const bool ends = fault_.at && fault_.requests++ >= *fault_.at && fault_.times > 0;
        if (ends) --fault_.times;
        if (ends && fault_.when == Fault::When::before) throw PeerLost("was killed");
        Json answer;
        try {
            answer = request.contains("load") ? Json{{"digest", server_.load(request.at("load"))}}
                                              : server_.answer(request);
        } catch (const std::exception& error) {
            answer = {{"failure", error.what()}};
        }
        if (ends) throw PeerLost("was killed");
        ++fault_.answered;
        return answer;
    }

private:
    PartServer server_;
    Fault& fault_;
    std::deque<Json> requests_;
};

struct Ending {
    std::uint64_t digest;
    std::uint32_t lost;
};

Ending build(Fault& fault, const kdtree::BuildConfig& config, std::uint32_t parts = 3,
             const kdtree::ForestProgress& progress = {}, const TemporaryFolder& folder = {}) {
    const scenes::Scene scene = scenes::load(kScene);
    RemoteWorkers workers(kScene, hex(digest(scene)), parts, folder.path(""),
                          [&] { return std::make_unique<FaultyPeer>(config, fault); });
    kdtree::Tree tree;
    kdtree::TreeInMemory sink(tree);
    build_forest(kdtree::forest_scene(scene), config, 100, workers, sink, progress);
    return {digest(tree), workers.lost()};
}

std::uint64_t wanted(const kdtree::BuildConfig& config) {
    return digest(kdtree::tests::plain_tree(scenes::load(kScene), config));
}

TEST(RemoteWorkers, BuildTheOrdinaryTree) {
    for (const std::uint32_t parts : {1U, 2U, 3U, 8U}) {
        Fault none;
        EXPECT_EQ(build(none, small_cells(), parts).digest, wanted(small_cells())) << parts;
    }
    kdtree::BuildConfig tight = small_cells();
    tight.max_duplication = 2;
    Fault none;
    EXPECT_EQ(build(none, tight).digest, wanted(tight)) << "with several rounds";
}

TEST(RemoteWorkers, AProcessThatEndsAtAnyRequestIsReplaced) {
    const std::uint64_t tree = wanted(small_cells());
    Fault none;
    build(none, small_cells());
    ASSERT_GT(none.answered, 20U) << "loading, several levels, cells and their trees";
    for (const auto when : {Fault::When::before, Fault::When::after}) {
        for (unsigned at = 0; at < none.answered; ++at) {
            Fault fault{.when = when, .at = at};
            const Ending outcome = build(fault, small_cells());
            EXPECT_EQ(outcome.digest, tree) << "request " << at;
            EXPECT_EQ(outcome.lost, 1U) << "request " << at;
        }
    }
}

TEST(RemoteWorkers, ProcessesThatEndOneAfterAnotherEndTheBuild) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    for (int i = 0; i < 5; ++i) {
        Fault fault{.at = static_cast<unsigned>(random() % 15), .times = 100};
        EXPECT_THROW(build(fault, small_cells()), std::runtime_error);
    }
}

TEST(RemoteWorkers, AFileThatIsMissingOrChangedEndsTheBuild) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    const auto spoiled = [&](const char* kind, bool remove) -> std::string {
        const TemporaryFolder folder;
        kdtree::ForestProgress progress;
        // What is there when the last level is divided: files of all kinds but cells and trees.
        progress.level = [&](const kdtree::ForestLevel& level) {
            if (level.open < 4) return;
            for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
                const std::string name = entry.path().filename().string();
                if (name.rfind(kind, 0) != 0) continue;
                if (remove) {
                    std::filesystem::remove(entry.path());
                    continue;
                }
                std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
                const auto at = static_cast<std::streamoff>(
                    random() % std::filesystem::file_size(entry.path()));
                file.seekg(at);
                const auto byte = static_cast<char>(file.get() ^ 1);
                file.seekp(at).put(byte);
            }
        };
        Fault fault{.at = 12};  // a process in its place reads all files again
        try {
            build(fault, small_cells(), 3, progress, folder);
            return "built";
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    };
    EXPECT_EQ(spoiled("nothing", true), "built");
    EXPECT_NE(spoiled("decisions-", true).find("is missing"), std::string::npos);
    EXPECT_NE(spoiled("decisions-", false).find("is not as it was written"), std::string::npos);
}

TEST(RemoteWorkers, ASceneThatChangesEndsTheBuild) {
    const TemporaryFolder folder;
    Fault none;
    RemoteWorkers workers(kScene, "0123456789abcdef", 2, folder.path(""),
                          [&] { return std::make_unique<FaultyPeer>(small_cells(), none); });
    EXPECT_THROW(workers.start({}), std::runtime_error);
}

}  // namespace
}  // namespace heapwood::app
