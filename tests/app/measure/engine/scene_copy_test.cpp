/// @file
/// Scenes that pass from a program to its worker processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>

#include "app/measure/engine/scene_copy.h"
#include "scenes/digest.h"

namespace heapwood::app {
namespace {

TEST(SceneCopy, IsTheSceneBitForBit) {
    for (const std::string name : {"gen:soup:1", "gen:city:3000", "gen:coincident:7"}) {
        const scenes::Scene scene = scenes::load(name);
        const SceneCopy copy(scene);
        // As often as there are processes.
        for (int process = 0; process < 2; ++process) {
            const scenes::Scene read = read_scene_copy(copy.where(), 1);
            EXPECT_EQ(read.path, scene.path);
            EXPECT_EQ(digest(read), digest(scene));
            EXPECT_EQ(read.degenerate, scene.degenerate);
            EXPECT_EQ(read.overlapping, scene.overlapping);
            EXPECT_EQ(read.bounds.lo, scene.bounds.lo);
            EXPECT_EQ(read.bounds.hi, scene.bounds.hi);
        }
    }
}

TEST(SceneCopy, OutlivesNoProgramAndReachesNewOnes) {
    int file = -1;
    {
        std::optional<SceneCopy> copy(SceneCopy(scenes::load("gen:soup:5")));
        file = copy->where().at("descriptor");
        EXPECT_EQ(fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
        struct stat status {};
        EXPECT_EQ(fstat(file, &status), 0);
        EXPECT_EQ(status.st_nlink, 0U);
    }
    EXPECT_EQ(fcntl(file, F_GETFD), -1);
    EXPECT_EQ(errno, EBADF);
}

TEST(SceneCopy, IsTheNameWhereTheSystemRefusesTheFile) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto signal = std::signal(SIGXFSZ, SIG_IGN);
    const scenes::Scene scene = scenes::load("gen:soup:5");
    for (const rlim_t most : {0, 70, 200}) {  // bytes: nothing, part of the head, of the rest
        const rlimit small{.rlim_cur = most, .rlim_max = before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
        const SceneCopy copy(scene);
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
        EXPECT_EQ(copy.where(), "gen:soup:5");
        EXPECT_EQ(digest(read_scene_copy(copy.where(), 1)), digest(scene));
    }
    std::signal(SIGXFSZ, signal);
}

std::string failure_of(const Json& where) {
    try {
        read_scene_copy(where, 1);
    } catch (const std::exception& error) {
        return error.what();
    }
    return "none";
}

TEST(SceneCopy, ThatIsNotWholeIsRefused) {
    const SceneCopy copy(scenes::load("gen:soup:5"));
    const int file = copy.where().at("descriptor");
    ASSERT_EQ(ftruncate(file, lseek(file, 0, SEEK_END) - 1), 0);
    EXPECT_EQ(failure_of(copy.where()),
              "gen:soup:5: cannot be read from the program's memory: it is not whole");
    EXPECT_EQ(failure_of({{"scene", "a.obj"}, {"descriptor", -1}}),
              "a.obj: cannot be read from the program's memory: Bad file descriptor");
    EXPECT_NE(failure_of({{"scene", "a.obj"}}), "none");
}

}  // namespace
}  // namespace heapwood::app
