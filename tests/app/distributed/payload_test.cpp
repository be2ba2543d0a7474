/// @file
/// Files between processes: what is read is what was written, and whatever was changed is noticed.
#include "app/distributed/payload.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>

#include "tests/app/temporary_folder.h"
#include "tests/seed.h"

namespace heapwood::app {
namespace {

struct Item {
    std::uint32_t words[3];
    bool operator==(const Item&) const = default;
};

std::string contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class PayloadTest : public testing::Test {
protected:
    std::vector<Item> random_items(std::size_t count) {
        std::vector<Item> items(count);
        for (Item& item : items) {
            for (std::uint32_t& word : item.words) word = static_cast<std::uint32_t>(random_());
        }
        return items;
    }
    /// Two arrays and a number between them.
    void write_some() {
        PayloadWriter file(path_);
        file.add(items_);
        file.add_one(std::uint64_t{7});
        file.add(bytes_);
        file.finish();
    }
    bool is_refused() const {
        try {
            const PayloadReader file(path_);
        } catch (const std::runtime_error& error) {
            EXPECT_NE(std::string(error.what()).find(path_.string()), std::string::npos);
            return true;
        }
        return false;
    }

    std::mt19937_64 random_{tests::test_seed()};
    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_.path("file");
    std::vector<Item> items_ = random_items(9);
    std::vector<char> bytes_ = {'a', 'b', 'c'};
};

TEST_F(PayloadTest, GivesWhatWasAdded) {
    for (const std::size_t count : {0, 1, 7, 8, 1000}) {
        items_ = random_items(count);
        bytes_.resize(count);
        write_some();
        PayloadReader file(path_);
        EXPECT_EQ(file.take_copy<Item>(), items_);
        EXPECT_EQ(file.take_one<std::uint64_t>(), 7U);
        EXPECT_EQ(file.take_copy<char>(), bytes_);
        EXPECT_THROW(file.take<char>(), std::runtime_error) << "there is no fourth array";
        using Entries = std::filesystem::directory_iterator;
        EXPECT_EQ(std::distance(Entries(path_.parent_path()), Entries()), 1);
    }
}

TEST_F(PayloadTest, RefusesAnArrayOfAnotherType) {
    write_some();
    EXPECT_THROW(PayloadReader(path_).take_copy<char>(), std::runtime_error);
    EXPECT_THROW(PayloadReader(path_).take_one<Item>(), std::runtime_error) << "there are nine";
}

TEST_F(PayloadTest, NoticesEachBitAndEachCut) {
    write_some();
    const std::string whole = contents(path_);
    ASSERT_FALSE(is_refused());
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string changed = whole;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        write(path_, changed);
        ASSERT_TRUE(is_refused()) << "bit " << bit;
    }
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        write(path_, whole.substr(0, bytes));
        ASSERT_TRUE(is_refused()) << "only " << bytes << " bytes";
    }
    write(path_, whole + std::string(32, '\0'));
    EXPECT_TRUE(is_refused());
    // Two blocks that changed places.
    write(path_, whole.substr(32, 32) + whole.substr(0, 32) + whole.substr(64));
    EXPECT_TRUE(is_refused());
}

TEST_F(PayloadTest, SaysWhichFileIsMissingOrCannotBeWritten) {
    EXPECT_TRUE(is_refused());
    PayloadWriter file(folder_.path("no folder") + "/file");
    file.add(items_);
    try {
        file.finish();
        FAIL() << "a file in no folder was written";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("no folder/file"), std::string::npos);
    }
}

}  // namespace
}  // namespace heapwood::app
