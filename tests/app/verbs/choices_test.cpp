/// @file
/// What is said of allocators that a program does not have.
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

}  // namespace
}  // namespace heapwood::app
