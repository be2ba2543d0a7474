/// @file
/// A register of blocks: the table in which a guarded heap looks up what it gave.
///
/// **Structure.** A hash table of entries with open addressing. An entry's key is the block's
/// address, with a bit once the program has freed the block. A block that is entered takes the
/// first entry on its way that is empty or left; one that is looked up is sought up to the first
/// empty entry.
///
/// **Concurrency.** The allocating thread takes an entry by a compare-and-swap, writes it, and
/// publishes the address by a release store. A thread that looks the block up loads the address by
/// an acquire. If several threads free the same block, one compare-and-swap from the address to the
/// freed address succeeds; the others fail. It also fails if the entry has another block by then.
/// The freeing thread clears the entry before it returns the memory, so no address is in the table
/// twice. No thread waits for another.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::heap {

/// A block as a guarded heap knows it. All zeroes: an empty entry.
struct RegisterEntry {
    /// Address of the block, with kFreed once it is; or kEmpty, kLeft, or kTaken while it is
    /// written.
    std::uint64_t key;
    std::uint64_t bytes;  ///< asked for
    std::uint32_t tag;    ///< of the caller
    std::uint32_t front;  ///< bytes of the heap before the block

    static constexpr std::uint64_t kEmpty = 0;
    static constexpr std::uint64_t kLeft = 1;   ///< had a block once
    static constexpr std::uint64_t kTaken = 2;  ///< is being written
    static constexpr std::uint64_t kFreed = 8;  ///< by the program; its memory is kept

    /// Whether a key is that of a block, live or freed.
    HEAPWOOD_INLINE static bool has_block(std::uint64_t key) { return key > kFreed; }
};

/// The table's handle.
class BlockRegister {
public:
    static constexpr std::uint32_t kNone = ~0U;

    BlockRegister() = default;
    /// @param entries `mask` + 1 of them, a power of two
    HEAPWOOD_INLINE BlockRegister(RegisterEntry* entries, std::uint32_t mask)
        : entries_(entries), mask_(mask) {}

    /// Reads the entry of a block that find() or set_freed() returned. No other thread may call
    /// leave() for it meanwhile. The key is the block's address, with kFreed if it was freed.
    HEAPWOOD_FN RegisterEntry read(std::uint32_t index) const {
        RegisterEntry& entry = entries_[index];
        return {Key(entry.key).load_relaxed(), Size(entry.bytes).load_relaxed(),
                Part(entry.tag).load_relaxed(), Part(entry.front).load_relaxed()};
    }

    /// Adds a live block. No other thread knows its address yet.
    /// @param address a multiple of 16
    /// @return false if the table is full
    HEAPWOOD_FN bool enter(std::uint64_t address, std::uint64_t bytes, std::uint32_t tag,
                           std::uint32_t front) const {
        std::uint32_t i = home(address);
        for (std::uint32_t n = 0; n <= mask_; ++n, i = (i + 1) & mask_) {
            RegisterEntry& entry = entries_[i];
            const Key key(entry.key);
            std::uint64_t found = key.load_relaxed();
            while (found == RegisterEntry::kEmpty || found == RegisterEntry::kLeft) {
                // Acquire: what the entry's last block left there is read no more.
                if (!key.cas_acquire(found, RegisterEntry::kTaken)) continue;
                Size(entry.bytes).store_relaxed(bytes);
                Part(entry.tag).store_relaxed(tag);
                Part(entry.front).store_relaxed(front);
                key.store_release(address);
                return true;
            }
        }
        return false;
    }
    /// The entry of a block that is live or freed, or kNone. It is found if it was entered before,
    /// in the order of memory, and is not left.
    HEAPWOOD_FN std::uint32_t find(std::uint64_t address) const {
        std::uint32_t i = home(address);
        for (std::uint32_t n = 0; n <= mask_; ++n, i = (i + 1) & mask_) {
            const std::uint64_t key = Key(entries_[i].key).load_acquire();
            if ((key & ~RegisterEntry::kFreed) == address) return i;
            if (key == RegisterEntry::kEmpty) return kNone;
        }
        return kNone;
    }
    /// Makes the live block of that address a freed one. Of several that try one succeeds, and may
    /// read what was entered.
    HEAPWOOD_FN bool set_freed(std::uint32_t index, std::uint64_t address) const {
        std::uint64_t live = address;
        return Key(entries_[index].key).cas_acquire(live, address | RegisterEntry::kFreed);
    }
    /// Forgets a freed block. Its memory goes back afterwards.
    HEAPWOOD_FN void leave(std::uint32_t index) const {
        Key(entries_[index].key).store_release(RegisterEntry::kLeft);
    }

private:
    using Key = platform::AtomicRef<std::uint64_t>;
    using Size = platform::AtomicRef<std::uint64_t>;
    using Part = platform::AtomicRef<std::uint32_t>;

    /// Where the way of an address begins: the upper bits of a product are the mixed ones.
    HEAPWOOD_INLINE std::uint32_t home(std::uint64_t address) const {
        return static_cast<std::uint32_t>(((address >> 4) * 0x9e3779b97f4a7c15U) >> 32) & mask_;
    }

    RegisterEntry* entries_ = nullptr;
    std::uint32_t mask_ = 0;
};

}  // namespace heapwood::allocators::heap
