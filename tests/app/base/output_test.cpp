/// @file
/// Files of results are replaced all at once, or not at all.
#include "app/base/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "app/base/held_signals.h"
#include "tests/app/temporary_folder.h"

namespace heapwood::app {
namespace {

std::string text_of(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
}

TEST(Output, ReplacesAllAtOnce) {
    const TemporaryFolder folder;
    const std::string path = folder.path("file");
    std::ofstream(path) << "old";
    std::ifstream reader(path);  // has the old file, whatever takes its name
    Output(path).write("new");
    std::string seen;
    reader >> seen;
    EXPECT_EQ(seen, "old");
    EXPECT_EQ(text_of(path), "new");
    EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(Output, WritesToTheTargetOfALink) {
    const TemporaryFolder folder;
    std::ofstream(folder.path("file")) << "old";
    std::filesystem::create_symlink("file", folder.path("link"));
    Output(folder.path("link")).write("new");
    EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
    EXPECT_EQ(text_of(folder.path("file")), "new");
}

TEST(Output, WritesToALinkWhoseTargetIsNotThere) {
    const TemporaryFolder folder;
    std::filesystem::create_symlink("file", folder.path("link"));
    Output(folder.path("link")).write("new");
    EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
    EXPECT_EQ(text_of(folder.path("file")), "new");
}

TEST(Output, WithoutWriteAllIsAsBefore) {
    const TemporaryFolder folder;
    std::ofstream(folder.path("old")) << "old";
    const Output kept(folder.path("old"));
    const Output made(folder.path("new"));
    // Now, and so whenever the program is killed.
    EXPECT_EQ(text_of(folder.path("old")), "old");
    EXPECT_FALSE(std::filesystem::exists(folder.path("new")));
}

TEST(Output, TwoOfOneFileDoNotMeet) {
    const TemporaryFolder folder;
    const std::string path = folder.path("file");
    std::ofstream(path + ".new") << "another program's";
    Output(path).write("whole");
    EXPECT_EQ(text_of(path), "whole");
    EXPECT_EQ(text_of(path + ".new"), "another program's");
}

TEST(Output, RemovesWhatAKilledProcessHasLeft) {
    const TemporaryFolder folder;
    // As NewFile names them where the system has no files without a name.
    const std::string left = folder.path("heapwood-0123abcd.new");
    const std::string used = folder.path("heapwood-4567cdef.new");
    std::ofstream(left) << "half";
    std::ofstream(used) << "half";
    const std::vector<std::string> others{"heapwood-of-mine.new", "heapwood-settings.new",
                                          "heapwood-0123ABCD.new", "heapwood-0123abcd.new.old"};
    for (const std::string& other : others) {
        std::ofstream(folder.path(other)) << "another program's";
    }
    const int lock = open(used.c_str(), O_RDONLY);
    ASSERT_EQ(flock(lock, LOCK_EX), 0);
    Output(folder.path("file")).write("whole");
    EXPECT_FALSE(std::filesystem::exists(left));
    EXPECT_TRUE(std::filesystem::exists(used));
    for (const std::string& other : others) {
        EXPECT_TRUE(std::filesystem::exists(folder.path(other))) << other;
    }
    close(lock);
}

TEST(Output, TakesTheRightsOfTheFileThatItReplaces) {
    const TemporaryFolder folder;
    const std::string path = folder.path("file");
    std::ofstream(path) << "old";
    for (const mode_t mode : {0600U, 0640U, 0666U}) {
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
        Output(path).write("new");
        struct stat facts {};
        ASSERT_EQ(stat(path.c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 07777U, mode);
    }
}

TEST(HeldSignals, WaitWhateverThreadTheyMeet) {
    EXPECT_EXIT(
        {
            const HeldSignals held;
            // As a library's thread, which no mask of this one reaches.
            std::thread([] { std::raise(SIGTERM); }).join();
            std::cerr << "still here";
            held.~HeldSignals();
            std::_Exit(0);
        },
        testing::KilledBySignal(SIGTERM), "^still here$");
}

TEST(HeldSignals, WhatIsIgnoredStaysIgnored) {
    const auto before = std::signal(SIGHUP, SIG_IGN);
    {
        const HeldSignals held;
        std::raise(SIGHUP);
    }
    EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

TEST(Output, DeviceStaysADevice) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs a full device";
    Output output("/dev/full");
    EXPECT_THROW(output.write("text"), std::runtime_error);
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace heapwood::app
