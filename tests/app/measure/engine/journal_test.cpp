/// @file
/// Journals that were cut off, are of something else, or cannot be written.
#include "app/measure/engine/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/base/exit_code.h"
#include "tests/app/temporary_folder.h"

namespace heapwood::app {
namespace {

const Json kHeader{{"journal", "test"}, {"date", "now"}, {"a", 1}, {"adopted", {{"b", 2}}}};

class JournalTest : public testing::Test {
protected:
    std::string path() const { return folder_.path("journal"); }
    void write(const std::string& text) const { std::ofstream(path()) << text; }
    std::string text() const {
        std::ostringstream all;
        all << std::ifstream(path()).rdbuf();
        return all.str();
    }
    /// Why it is refused.
    std::string refusal(const Json& header = kHeader) const {
        try {
            const Journal journal(path(), header);
            return "";
        } catch (const UsageError& error) {
            return error.what();
        }
    }

    TemporaryFolder folder_;
};

TEST_F(JournalTest, GoesOn) {
    {
        Journal journal(path(), kHeader);
        EXPECT_TRUE(journal.entries().empty());
        EXPECT_TRUE(journal.append({{"n", 1}}));
        EXPECT_TRUE(journal.append({{"n", 2}}));
    }
    Json later = kHeader;
    later["date"] = "later";
    later["adopted"]["b"] = 3;
    Journal journal(path(), later);
    EXPECT_EQ(journal.entries(), (std::vector<Json>{{{"n", 1}}, {{"n", 2}}}));
    EXPECT_EQ(journal.header(), kHeader) << "what is adopted is the first run's";
    EXPECT_TRUE(journal.append({{"n", 3}}));
    EXPECT_EQ(text(), kHeader.dump() + "\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    journal.remove();
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(JournalTest, WithoutEntriesLeavesNothingBehind) {
    { const Journal journal(path(), kHeader); }
    EXPECT_FALSE(std::filesystem::exists(path()));
    write("");
    { const Journal journal(path(), kHeader); }
    EXPECT_TRUE(std::filesystem::exists(path())) << "it was there before";
}

TEST_F(JournalTest, ALineThatIsCutOffIsCutAway) {
    const std::string whole = kHeader.dump() + "\n{\"n\":1}\n";
    for (const std::string rest : {"{", "{\"n\":2", "{\"n\":2}"}) {
        write(whole + rest);
        {
            Journal journal(path(), kHeader);
            EXPECT_EQ(journal.entries().size(), 1U) << rest;
            EXPECT_TRUE(journal.append({{"n", 3}}));
        }
        EXPECT_EQ(text(), whole + "{\"n\":3}\n") << rest;
    }
    write(kHeader.dump().substr(0, 10));
    {
        Journal journal(path(), kHeader);
        EXPECT_TRUE(journal.append({{"n", 3}}));
    }
    EXPECT_EQ(text(), kHeader.dump() + "\n{\"n\":3}\n");
}

TEST_F(JournalTest, OfSomethingElseIsRefusedAndLeftAlone) {
    write(kHeader.dump() + "\n");
    Json other = kHeader;
    other["a"] = 2;
    other["c"] = 3;
    EXPECT_NE(refusal(other).find("differs in: a, c;"), std::string::npos) << refusal(other);
    for (const std::string junk :
         {"v 1 2 3\nf 1 2 3\n", "notes", "{\n  \"schema\": 1\n}\n", "[1]\n"}) {
        write(junk);
        EXPECT_NE(refusal(), "") << junk;
        EXPECT_EQ(text(), junk);
    }
}

TEST_F(JournalTest, NestedDeeplyIsRefused) {
    const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
    for (const std::string& written :
         {deep, "{\"a\":" + deep + "}", kHeader.dump() + "\n" + deep}) {
        write(written + "\n");
        EXPECT_NE(refusal().find("is no journal of heapwood"), std::string::npos);
    }
}

TEST_F(JournalTest, IsForOneAtATime) {
    const Journal journal(path(), kHeader);
    EXPECT_NE(refusal().find("in use"), std::string::npos);
}

TEST_F(JournalTest, FolderThatIsNotThere) {
    EXPECT_THROW(Journal(folder_.path("no/journal"), kHeader), UsageError);
    EXPECT_THROW(Journal(folder_.path(""), kHeader), UsageError);
}

TEST_F(JournalTest, FullDisk) {
    Journal journal(path(), kHeader);
    // As on a full disk: there is room for the header and one entry.
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit all{};
    getrlimit(RLIMIT_FSIZE, &all);
    const rlimit few{.rlim_cur = kHeader.dump().size() + 12, .rlim_max = all.rlim_max};
    setrlimit(RLIMIT_FSIZE, &few);
    EXPECT_TRUE(journal.append({{"n", 1}}));
    EXPECT_FALSE(journal.append({{"n", 2}}));
    EXPECT_FALSE(journal.append({{"n", 3}}));
    setrlimit(RLIMIT_FSIZE, &all);
    std::signal(SIGXFSZ, before);
}

TEST(Journal, ADeviceIsRefusedForItKeepsNothing) {
    for (const char* device : {"/dev/null", "/dev/full"}) {
        EXPECT_THROW(Journal(device, kHeader), UsageError) << device;
    }
}

}  // namespace
}  // namespace heapwood::app
