/// @file
/// Files that take the place of others, with a name from the beginning and without one.
#include "allocators/platform/new_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "allocators/platform/file_bytes.h"

namespace heapwood::tests {
namespace {

using platform::NewFile;
using Named = NewFile::Named;

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
}

mode_t mode_of(const std::filesystem::path& path) {
    struct stat facts {};
    return stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777U : 0;
}

class NewFileTest : public testing::TestWithParam<Named> {
protected:
    NewFileTest() {
        std::string name = (std::filesystem::temp_directory_path() / "heapwood.XXXXXX").string();
        if (mkdtemp(name.data()) != nullptr) folder_ = name;
    }
    ~NewFileTest() override { std::filesystem::remove_all(folder_); }

    /// The files in the folder but for the target.
    std::vector<std::filesystem::path> others() const {
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            if (entry.path() != target()) found.push_back(entry.path());
        }
        return found;
    }
    std::filesystem::path target() const { return folder_ / "target"; }

    std::filesystem::path folder_;
};

TEST_P(NewFileTest, TakesAPlaceThatIsFree) {
    NewFile file(target(), GetParam());
    ASSERT_EQ(file.error(), 0);
    ASSERT_TRUE(platform::write_all(file.descriptor(), "new"));
    EXPECT_FALSE(std::filesystem::exists(target()));
    ASSERT_TRUE(file.replace());
    EXPECT_EQ(text_of(target()), "new");
    EXPECT_TRUE(others().empty());
    const mode_t mask = umask(0);
    umask(mask);
    EXPECT_EQ(mode_of(target()), 0666U & ~mask);
}

TEST_P(NewFileTest, TakesThePlaceOfAFileWithItsRights) {
    std::ofstream(target()) << "old";
    ASSERT_EQ(chmod(target().c_str(), 0640), 0);
    NewFile file(target(), GetParam());
    ASSERT_EQ(file.error(), 0);
    ASSERT_TRUE(platform::write_all(file.descriptor(), "new"));
    EXPECT_EQ(text_of(target()), "old");
    // Others must not read meanwhile what they could not read of the former file.
    for (const auto& other : others()) EXPECT_EQ(mode_of(other) & 0077U, 0U);
    ASSERT_TRUE(file.replace());
    EXPECT_EQ(text_of(target()), "new");
    EXPECT_EQ(mode_of(target()), 0640U);
    EXPECT_TRUE(others().empty());
}

TEST_P(NewFileTest, LeavesNothingUnlessItTakesThePlace) {
    std::ofstream(target()) << "old";
    {
        const NewFile file(target(), GetParam());
        ASSERT_EQ(file.error(), 0);
    }
    EXPECT_EQ(text_of(target()), "old");
    EXPECT_TRUE(others().empty());
}

TEST_P(NewFileTest, CannotBeInAFolderThatIsNotThere) {
    EXPECT_NE(NewFile(folder_ / "none" / "x", GetParam()).error(), 0);
}

/// A killed process leaves a file with a name, which the next process removes; one that is in use
/// stays.
TEST_P(NewFileTest, IsRemovedWhenItsProcessHasEnded) {
    const pid_t child = fork();
    if (child == 0) {
        const NewFile file(target(), GetParam());
        _exit(file.error());
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    EXPECT_EQ(others().size(), GetParam() == Named::early ? 1U : 0U);
    const NewFile used(target(), Named::early);
    ASSERT_EQ(others().size(), 1U);
    const std::filesystem::path name = others().front();
    EXPECT_TRUE(platform::is_locked(name));
    // Another process, which looks for leftovers once more where the folder has another name.
    const pid_t other = fork();
    if (other == 0) {
        const NewFile file(folder_ / "." / "target", GetParam());
        _exit(file.error());
    }
    ASSERT_EQ(waitpid(other, &status, 0), other);
    ASSERT_EQ(status, 0);
    EXPECT_TRUE(std::filesystem::exists(name));
}

INSTANTIATE_TEST_SUITE_P(Both, NewFileTest, testing::Values(Named::late, Named::early),
                         [](const auto& test) {
                             return std::string(test.param == Named::early ? "Early" : "Late");
                         });

}  // namespace
}  // namespace heapwood::tests
