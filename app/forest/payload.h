/// @file
/// Arrays of plain data as files, between the processes of a build in parts on machines of one
/// kind. A file is there as a whole or not at all, and one that has been changed is noticed.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace heapwood::app {

/// Collects arrays, and writes them.
class PayloadWriter {
public:
    template <class T>
    void add(const std::vector<T>& items) {
        static_assert(std::is_trivially_copyable_v<T>);
        add_bytes(items.data(), items.size(), sizeof(T));
    }
    /// @throws std::runtime_error that names the file.
    void write(const std::filesystem::path& path) const;

private:
    void add_bytes(const void* items, std::uint64_t count, std::uint64_t size);

    std::string bytes_;
};

/// Reads the arrays of a file in the order in which they were added.
class PayloadReader {
public:
    /// @throws std::runtime_error that names the file, if it is missing or not as it was written.
    explicit PayloadReader(const std::filesystem::path& path);

    /// The next array. @throws std::runtime_error that names the file, if there is none of this
    /// type.
    template <class T>
    std::vector<T> take() {
        static_assert(std::is_trivially_copyable_v<T>);
        std::vector<T> items(count(sizeof(T)));
        if (!items.empty()) take_bytes(items.data(), items.size() * sizeof(T));
        return items;
    }
    /// The same of an array of one.
    template <class T>
    T take_one() {
        const std::vector<T> items = take<T>();
        if (items.size() != 1) fail("has other contents");
        return items.front();
    }

private:
    [[noreturn]] void fail(const char* what) const;
    std::uint64_t count(std::uint64_t size);
    void take_bytes(void* to, std::uint64_t bytes);

    std::filesystem::path path_;
    std::string bytes_;
    std::uint64_t at_ = 0;
};

}  // namespace heapwood::app
