/// @file
/// Arrays of plain data as files, between the processes of a build in parts on machines of one
/// kind. A file is there as a whole or not at all, and one that has been changed is noticed.
///
/// A file is blocks of 32 bytes. An array is a block with the number of its items and the bytes of
/// each, and then the items, filled up with zeroes. The last block has the checksum of all others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "allocators/platform/new_file.h"

namespace heapwood::app {

/// A hash of blocks. Each of its four lanes takes one word of a block, and each step is a bijection
/// of the lane: a single changed word always changes the result. A core hashes 5 GB/s with it, and
/// 2.6 GB/s with scenes::Fnv (Xeon), and each byte of a build in parts is hashed twice.
class PayloadChecksum {
public:
    static constexpr std::size_t kBlock = 32;

    /// @param blocks of kBlock bytes each.
    void add(const void* blocks, std::size_t count);
    std::uint64_t value() const;

private:
    std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
};

/// Writes arrays to a file as they come.
class PayloadWriter {
public:
    /// Begins a file without a name in the folder of the one of that name.
    explicit PayloadWriter(std::filesystem::path path);

    template <class T>
    void add(std::span<const T> items) {
        static_assert(std::is_trivially_copyable_v<T>);
        add_bytes(items.data(), items.size(), sizeof(T));
    }
    template <class T>
    void add(const std::vector<T>& items) {
        add(std::span<const T>(items));
    }
    /// An array of one.
    template <class T>
    void add_one(const T& item) {
        add(std::span<const T>(&item, 1));
    }
    /// Gives the file its name, after the last array.
    /// @throws std::runtime_error that names the file, if it could not be written in full, and why.
    void finish();

private:
    void add_bytes(const void* items, std::uint64_t count, std::uint64_t size);
    void put(const void* blocks, std::size_t count);
    void flush();
    void write(std::string_view bytes);

    std::filesystem::path path_;
    platform::NewFile file_;
    int error_;          ///< the first of the system; 0: none
    std::string small_;  ///< blocks that are written together
    PayloadChecksum checksum_;
};

/// Has the contents of a file, and gives its arrays in the order in which they were added.
class PayloadReader {
public:
    /// @throws std::runtime_error that names the file, if it is missing or not as it was written.
    explicit PayloadReader(std::filesystem::path path);

    /// The next array, which lives as long as the reader.
    /// @throws std::runtime_error that names the file, if there is none of this type.
    template <class T>
    std::span<const T> take() & {
        static_assert(std::is_trivially_copyable_v<T> &&
                      alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        const std::uint64_t items = count(sizeof(T));
        return {reinterpret_cast<const T*>(take_bytes(items * sizeof(T))), items};
    }
    /// The same as an array of its own.
    template <class T>
    std::vector<T> take_copy() {
        const std::span<const T> items = take<T>();
        return {items.begin(), items.end()};
    }
    /// The item of an array of one.
    template <class T>
    T take_one() {
        const std::span<const T> items = take<T>();
        if (items.size() != 1) fail("has other contents");
        return items.front();
    }

private:
    [[noreturn]] void fail(const char* what) const;
    std::uint64_t count(std::uint64_t size);
    const std::byte* take_bytes(std::uint64_t bytes);

    std::filesystem::path path_;
    std::unique_ptr<std::byte[]> bytes_;
    std::uint64_t size_ = 0;  ///< without the last block
    std::uint64_t at_ = 0;
};

}  // namespace heapwood::app
