/// @file
/// A build in parts by several processes, of which some end early: the right tree, or an error.
#include "app/distributed/remote_workers.h"

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <random>

#include "app/base/text.h"
#include "app/distributed/process_peer.h"
#include "kdtree/distributed/forest.h"
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
        : server_(config, {.threads = 2}), fault_(fault) {}

    void send(const Json& request) override { requests_.push_back(request); }
    Json receive(double) override {
        const Json request = requests_.front();
        requests_.pop_front();
        const bool ends = fault_.at && fault_.requests++ >= *fault_.at && fault_.times > 0;
        if (ends) --fault_.times;
        if (ends && fault_.when == Fault::When::before) throw PeerLost("was killed");
        Json answer;
        try {
            answer = server_.answer(request);
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
    RemoteWorkers workers(
        kScene, parts, folder.path(""),
        [&](auto) { return std::make_unique<FaultyPeer>(config, fault); }, 60);
    const scenes::SceneFacts facts = workers.load();
    EXPECT_EQ(facts, facts_of(scene));
    kdtree::Tree tree;
    kdtree::TreeInMemory sink(tree);
    build_forest(kdtree::forest_scene(facts), config, 100, workers, sink, progress);
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

/// A process that has a folder of its own for each request.
class FarPeer final : public Peer {
public:
    explicit FarPeer(const kdtree::BuildConfig& config) : server_(config, {.threads = 1}) {}

    void send(const Json& request) override { requests_.push_back(request); }
    Json receive(double) override {
        Json request = requests_.front();
        requests_.pop_front();
        const std::filesystem::path here = request.at("folder").get<std::string>();
        const TemporaryFolder there;
        const RequestFiles files = files_of(request);
        for (const std::string& name : files.needed) copy_file(here / name, there.path(name));
        request["folder"] = there.path("");
        const Json answer = server_.answer(request);
        for (const std::string& name : files.made) copy_file(there.path(name), here / name);
        const auto all = std::filesystem::directory_iterator(there.path(""));
        EXPECT_EQ(static_cast<std::size_t>(std::distance(begin(all), end(all))),
                  files.needed.size() + files.made.size());
        return answer;
    }

private:
    PartServer server_;
    std::deque<Json> requests_;
};

TEST(RemoteWorkers, NeedNoFolderInCommon) {
    const TemporaryFolder folder;
    RemoteWorkers workers(
        kScene, 3, folder.path(""), [](auto) { return std::make_unique<FarPeer>(small_cells()); },
        60);
    const scenes::SceneFacts facts = workers.load();
    kdtree::Tree tree;
    kdtree::TreeInMemory sink(tree);
    build_forest(kdtree::forest_scene(facts), small_cells(), 100, workers, sink);
    EXPECT_EQ(digest(tree), wanted(small_cells()));
}

TEST(RemoteWorkers, MakeAProcessOfEachPartAndAnotherInItsPlace) {
    const TemporaryFolder folder;
    Fault fault{.when = Fault::When::after, .at = 1};
    std::vector<std::uint32_t> made;
    RemoteWorkers workers(
        kScene, 3, folder.path(""),
        [&](std::uint32_t part) {
            made.push_back(part);
            return std::make_unique<FaultyPeer>(small_cells(), fault);
        },
        60);
    workers.load();
    EXPECT_EQ(made, (std::vector<std::uint32_t>{0, 1, 2, 1}));
}

TEST(DeviceOfPart, IsTheNextOfTheList) {
    using Variables = std::vector<std::string>;
    EXPECT_EQ(device_of_part({}, 3, nullptr), Variables{});
    const std::vector<std::uint32_t> devices{2, 0, 7};
    for (const auto& [part, device] : std::map<std::uint32_t, const char*>{
             {0, "2"}, {1, "0"}, {2, "7"}, {3, "2"}, {1001, "7"}}) {
        EXPECT_EQ(device_of_part(devices, part, nullptr),
                  Variables{std::string("CUDA_VISIBLE_DEVICES=") + device});
    }
}

TEST(DeviceOfPart, IsOneOfThoseThatTheProgramSees) {
    for (const auto& [part, device] :
         std::map<std::uint32_t, const char*>{{0, "GPU-5a"}, {1, "6"}, {2, "3"}}) {
        EXPECT_EQ(device_of_part({2, 0, 1}, part, "6,3,GPU-5a"),
                  (std::vector<std::string>{std::string("CUDA_VISIBLE_DEVICES=") + device}));
    }
}

/// A process that never answers.
class HangingPeer final : public Peer {
public:
    explicit HangingPeer(std::vector<double>& waits) : waits_(waits) {}
    void send(const Json&) override {}
    Json receive(double seconds) override {
        waits_.push_back(seconds);
        throw PeerLost("gave no answer");
    }

private:
    std::vector<double>& waits_;
};

TEST(RemoteWorkers, TheTimeForAnAnswerFollowsTheWorkAndDoubles) {
    const auto waits = [](const char* scene) {
        const TemporaryFolder folder;
        std::vector<double> all;
        RemoteWorkers workers(
            scene, 2, folder.path(""), [&](auto) { return std::make_unique<HangingPeer>(all); }, 5);
        EXPECT_THROW(workers.load(), std::runtime_error);
        EXPECT_EQ(workers.lost(), kAttempts);
        return all;
    };
    EXPECT_EQ(waits("gen:soup:1"), (std::vector<double>{5, 10, 20}));
    EXPECT_EQ(waits("gen:soup:20000000"), (std::vector<double>{1005, 2010, 4020}));
}

TEST(RemoteWorkers, ASceneThatChangesEndsTheBuild) {
    const TemporaryFolder folder, place;
    const std::string scene = place.path("a.obj");
    const auto save = [&](const char* first) {
        std::ofstream(scene) << "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
                             << first << "f 1 2 4\nf 1 3 4\nf 2 3 4\n";
    };
    save("f 1 2 3\n");
    Fault fault{.at = 2};  // when both shares are loaded, part 0's process
    RemoteWorkers workers(
        scene, 2, folder.path(""),
        [&](auto) { return std::make_unique<FaultyPeer>(small_cells(), fault); }, 60);
    const scenes::SceneFacts facts = workers.load();
    EXPECT_EQ(facts, facts_of(scenes::load(scene)));
    save("f 3 2 1\n");
    kdtree::Tree tree;
    kdtree::TreeInMemory sink(tree);
    try {
        build_forest(kdtree::forest_scene(facts), small_cells(), 0, workers, sink);
        FAIL() << "of another scene";
    } catch (const std::runtime_error& error) {
        const std::string why = error.what();
        EXPECT_NE(why.find("a.obj: has changed since it was first read"), why.npos) << why;
    }
}

TEST(RemoteWorkers, AShareThatCannotBeLoadedEndsTheBuild) {
    const TemporaryFolder folder;
    Fault none;
    RemoteWorkers workers(
        "nowhere.obj", 2, folder.path(""),
        [&](auto) { return std::make_unique<FaultyPeer>(small_cells(), none); }, 60);
    EXPECT_THROW(workers.load(), scenes::SceneError);
}

}  // namespace
}  // namespace heapwood::app
