/// @file
/// The parts that worker processes are made of.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "app/measure/engine/child.h"
#include "app/measure/engine/interrupts.h"
#include "app/measure/engine/lines.h"
#include "app/measure/engine/worker_pool.h"
#include "tests/app/temporary_folder.h"

namespace heapwood::app {
namespace {

using namespace std::chrono_literals;

class LinesTest : public testing::Test {
protected:
    ~LinesTest() override {
        close(ends_[0]);
        close(ends_[1]);
    }
    void put(const std::string& text) const {
        ASSERT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    Arrival receive(int meanwhile = -1) {
        return lines_.receive(line_, Lines::Clock::now() + 1ms, meanwhile);
    }

    static std::array<int, 2> pair() {
        std::array<int, 2> ends{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        return ends;
    }

    std::array<int, 2> ends_ = pair();
    Lines lines_{ends_[0]};
    std::string line_;
};

TEST_F(LinesTest, ComeOneByOneHoweverTheyAreSent) {
    put("one\ntw");
    EXPECT_EQ(receive(), Arrival::line);
    EXPECT_EQ(line_, "one");
    EXPECT_EQ(receive(), Arrival::late);
    put("o\n\nthree");
    EXPECT_EQ(receive(), Arrival::line);
    EXPECT_EQ(line_, "two");
    EXPECT_EQ(receive(), Arrival::line);
    EXPECT_EQ(line_, "");
    EXPECT_EQ(receive(), Arrival::late);
}

TEST_F(LinesTest, GoThere) {
    EXPECT_TRUE(lines_.send("hello"));
    std::array<char, 16> got{};
    EXPECT_EQ(read(ends_[1], got.data(), got.size()), 6);
    EXPECT_STREQ(got.data(), "hello\n");
}

TEST_F(LinesTest, OtherSideGone) {
    put("last\nrest");
    shutdown(ends_[1], SHUT_RDWR);
    EXPECT_EQ(receive(), Arrival::line);
    EXPECT_EQ(receive(), Arrival::closed);
    EXPECT_FALSE(lines_.send("hello")) << "and no SIGPIPE";
}

TEST_F(LinesTest, FloodEnds) {
    std::thread writer([&] {
        const std::string block(65536, 'x');
        while (send(ends_[1], block.data(), block.size(), MSG_NOSIGNAL) > 0) {
        }
    });
    EXPECT_EQ(lines_.receive(line_), Arrival::flood);
    shutdown(ends_[0], SHUT_RDWR);
    writer.join();
}

TEST_F(LinesTest, InterruptsEndTheWait) {
    const Interrupts interrupts;
    EXPECT_EQ(interrupts.signal(), 0);
    EXPECT_EQ(receive(interrupts.descriptor()), Arrival::late);
    std::raise(SIGTERM);
    EXPECT_EQ(receive(interrupts.descriptor()), Arrival::interrupted);
    EXPECT_EQ(interrupts.signal(), SIGTERM);
}

TEST(Interrupts, SignalsThatAreIgnoredStayIgnored) {
    std::signal(SIGHUP, SIG_IGN);
    {
        const Interrupts interrupts;
        std::raise(SIGHUP);
        EXPECT_EQ(interrupts.signal(), 0);
    }
    EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST(Interrupts, TheSecondSignalEndsTheProgram) {
    EXPECT_EXIT(
        {
            std::signal(SIGINT, SIG_DFL);  // a shell's background job ignores it
            const Interrupts interrupts;
            std::raise(SIGINT);
            std::raise(SIGINT);
            std::exit(0);
        },
        testing::KilledBySignal(SIGINT), "");
}

TEST(Worker, HasTheProgramsArgumentsAndItsOwn) {
    EXPECT_EQ(worker_arguments({"heapwood", "-q", "compare", "a.obj", "--", "-b.obj"}, "x"),
              (std::vector<std::string>{"heapwood", "worker", "x", "-q", "compare", "a.obj", "--",
                                        "-b.obj"}));
}

TEST(Worker, HasTheProgramsEnvironmentAndItsOwn) {
    const TemporaryFolder folder;
    const auto list_tests = [](const std::vector<std::string>& environment) {
        Child child({"tests", "--gtest_list_tests", "--gtest_filter=Worker.*"}, environment);
        EXPECT_EQ(child.end(), "ended with exit code 0");
    };
    // GoogleTest's variable for a file of what it has listed.
    const std::string program = folder.path("program.json"), own = folder.path("own.json");
    setenv("GTEST_OUTPUT", ("json:" + program).c_str(), 1);
    list_tests({"GTEST_OUTPUT=json:" + own});
    EXPECT_TRUE(std::filesystem::exists(own));
    EXPECT_FALSE(std::filesystem::exists(program));
    list_tests({"GTEST_OUT=json:" + own});
    EXPECT_TRUE(std::filesystem::exists(program)) << "that variable has another name";
    unsetenv("GTEST_OUTPUT");
}

}  // namespace
}  // namespace heapwood::app
