/// @file
/// Which allocators are chosen, and what is said of those that a program or a machine does not
/// have.
#include "app/verbs/choices.h"

#include <gtest/gtest.h>

namespace heapwood::app {
namespace {

const std::vector<std::string> kKnown{"atomicmalloc", "halloc"};

TEST(NoAllocator, SuggestsTheNameThatWasMeant) {
    EXPECT_EQ(no_allocator("haloc", kKnown, {"cmalloc"}, false),
              "no allocator 'haloc'; there are atomicmalloc, halloc; did you mean 'halloc'?");
    EXPECT_EQ(no_allocator("qwertyuiop", kKnown, {"cmalloc"}, true),
              "no allocator 'qwertyuiop'; there are atomicmalloc, halloc");
}

TEST(NoAllocator, SaysHowToCompileOneThatIsLeftOut) {
    EXPECT_EQ(
        no_allocator("cmalloc", kKnown, {"buddy", "cmalloc"}, false),
        "no allocator 'cmalloc'; there are atomicmalloc, halloc; this program is compiled "
        "without it: configure with -DHEAPWOOD_ALLOCATORS=\"atomicmalloc;halloc;cmalloc\", or "
        "empty for all");
    EXPECT_EQ(
        no_allocator("cmalloc", kKnown, {"buddy", "cmalloc"}, true),
        "no allocator 'cmalloc'; there are atomicmalloc, halloc; this package is compiled "
        "without it: in a clone of heapwood's repository, HEAPWOOD_ALLOCATORS=all pip install "
        ". compiles all allocators");
}

TEST(OnlyForGpus, SaysWhetherThereIsOne) {
    EXPECT_EQ(
        only_for_gpus("mine", "no driver"),
        "the allocator 'mine' exists for GPUs only, and there is no GPU to run on: no driver");
    EXPECT_EQ(only_for_gpus("mine", ""),
              "the allocator 'mine' exists for GPUs only; choose a GPU as the device");
}

/// A program with one allocator of each kind on a CPU, and one for GPUs alone.
class Choosing : public ::testing::Test {
protected:
    static Backend named(const char* name, bool gpu = false) {
        Backend backend{.traits = {}, .gpu = gpu, .build = nullptr};
        backend.traits.name = name;
        return backend;
    }
    Choosing() {
        specimen_.traits.sound = false;
        untested_.tested = false;
        remade_.remade = true;
    }
    std::vector<std::string> chosen(const std::vector<std::string>& asked) {
        BuildParameters parameters;
        parameters.allocators = asked;
        testing::internal::CaptureStderr();
        const auto backends = choose_backends({&good_, &specimen_, &untested_, &remade_, &on_gpu_},
                                              parameters, false);
        said_ = testing::internal::GetCapturedStderr();
        std::vector<std::string> names;
        for (const Backend* backend : backends) names.emplace_back(backend->traits.name);
        return names;
    }

    Backend good_ = named("good");
    Backend specimen_ = named("specimen");
    Backend untested_ = named("untested");
    Backend remade_ = named("remade");
    Backend on_gpu_ = named("on-gpu", true);
    std::string said_;
};

TEST_F(Choosing, AllMeansTheSoundOnesAndOthersCanBeNamedBesideIt) {
    EXPECT_EQ(chosen({"all"}), (std::vector<std::string>{"good", "remade"}));
    EXPECT_NE(said_.find("untested: untested; name it too, as -a all,untested"), std::string::npos)
        << said_;
    EXPECT_EQ(chosen({"all", "untested"}),
              (std::vector<std::string>{"good", "remade", "untested"}));
    EXPECT_EQ(said_.find("leaves out"), std::string::npos) << said_;
    EXPECT_EQ(chosen({"specimen", "all"}),
              (std::vector<std::string>{"specimen", "good", "remade"}));
}

TEST_F(Choosing, SaysThatAnAllocatorHasNoReset) {
    chosen({"good"});
    EXPECT_EQ(said_, "");
    chosen({"good", "remade"});
    EXPECT_NE(said_.find("remade has no reset(): each build"), std::string::npos) << said_;
}

TEST_F(Choosing, KnowsAnAllocatorThatOnlyGpusHave) {
    try {
        chosen({"on-gpu"});
        FAIL() << "a CPU has no such allocator";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("'on-gpu' exists for GPUs only"),
                  std::string::npos)
            << error.what();
    }
    testing::internal::GetCapturedStderr();
}

TEST(Soundness, IsUnknownOfTheUntested) {
    Backend backend{.traits = {}, .gpu = false, .build = nullptr};
    EXPECT_EQ(sound(backend), true);
    backend.tested = false;
    EXPECT_EQ(sound(backend), std::nullopt);
    backend.traits.sound = false;
    EXPECT_EQ(sound(backend), false);
}

}  // namespace
}  // namespace heapwood::app
