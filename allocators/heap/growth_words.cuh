/// @file
/// How a caller whose request is refused asks the host for one more part of the pool, and waits.
///
/// **Structure.** Two words lie in a mailbox that a GPU and the host both see: `request`, which
/// callers write, and `answer`, which the host writes. The answer says how many parts there are,
/// and from which size on the host refuses requests at that number. A copy of the answer, `known`,
/// lies in the memory of the callers, for a look at the mailbox takes about a microsecond and all
/// callers of a GPU would share its bus.
///
/// A caller that no part has served looks at `known`. If that has more parts than the caller has
/// tried, it tries again; if that refuses its size, it gives up at once. Else one of the callers
/// that wait becomes the messenger: it brings the answer, posts a request that is not yet on its
/// way, and is a messenger no more. All wait for a bounded time.
///
/// **Concurrency.** The host writes a part and its entry in the table before its answer (release);
/// the messenger reads the answer (acquire) and writes `known` (release), which callers read
/// (acquire): so a caller that knows of a part may use it. A request carries the number of parts at
/// which it was refused; a late one is a past number, which the host passes over.
///
/// **No caller waits for ever.** The messenger's role is tried, never waited for, and its holder
/// waits for nothing. The host may be late, or wait for the kernel itself: then the wait ends after
/// `patience` nanoseconds, the request is refused, and callers wait no more at this number of
/// parts; each only looks.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/clock.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/system_atomic.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::heap {

/// Parts that a pool can have.
inline constexpr std::uint32_t kMostParts = 32;

/// A number of parts, and of bytes, in one word. What has more parts is greater.
struct PartsAndBytes {
    static constexpr unsigned kByteBits = 56;
    /// More than any request has.
    static constexpr std::uint64_t kNoBytes = (std::uint64_t{1} << kByteBits) - 1;

    std::uint32_t parts;
    std::uint64_t bytes;

    HEAPWOOD_INLINE static PartsAndBytes of(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word >> kByteBits), word & kNoBytes};
    }
    HEAPWOOD_INLINE std::uint64_t word() const { return std::uint64_t{parts} << kByteBits | bytes; }
};

/// In pinned memory, or on a CPU anywhere. Each word is a PartsAndBytes.
struct Mailbox {
    /// Parts that a caller has tried, and bytes that it needs. Callers write it.
    alignas(128) std::uint64_t request;
    /// Parts that there are, and bytes from which on a request is refused. The host writes it.
    alignas(128) std::uint64_t answer;
    /// Of a pool of one range: where in it each part ends, in bytes. The host writes one before the
    /// answer that tells of it.
    alignas(128) std::uint64_t ends[kMostParts];
};

/// In the callers' memory.
struct GrowthWords {
    std::uint64_t known;      ///< the last answer that was brought
    std::uint64_t posted;     ///< the last request; of the messenger alone
    std::uint32_t last;       ///< the part that answered the last request: a hint
    std::uint32_t messenger;  ///< 1 while a caller is the messenger
    std::uint32_t late;       ///< parts at which a caller waited too long; 0: no caller did
};

/// What the messenger does with an answer before other callers hear of it: nothing, where parts
/// are pools of their own.
struct NoNews {
    HEAPWOOD_INLINE void operator()(std::uint32_t) const {}
};

/// The callers' side.
struct GrowthCaller {
    GrowthWords* words;
    Mailbox* mailbox;
    std::uint64_t patience;  ///< nanoseconds

    /// How many parts there are, as far as callers know. The caller may use them.
    HEAPWOOD_INLINE std::uint32_t known_parts() const {
        // Acquire: pairs with bring_answer(), so that the table's entries are seen.
        return PartsAndBytes::of(platform::AtomicRef(words->known).load_acquire()).parts;
    }

    /// Waits until there are more than `parts` parts.
    /// @param bytes of the request that they have refused; not 0
    /// @param deadline of the call, in nanoseconds(); 0: it has not waited yet
    /// @param news is called with the number of parts of an answer by the one caller that brings
    /// it,
    ///     before others hear of it
    /// @return how many there are; `parts` if there are no more
    template <class News = NoNews>
    HEAPWOOD_FN std::uint32_t more_parts(std::uint32_t parts, std::uint64_t bytes,
                                         std::uint64_t& deadline, const News& news = {}) const {
        const platform::AtomicRef known(words->known);
        const platform::AtomicRef messenger(words->messenger);
        const platform::AtomicRef late(words->late);
        for (unsigned n = 0;; ++n) {
            // Acquire: as in known_parts().
            auto answer = PartsAndBytes::of(known.load_acquire());
            if (answer.parts == parts && bytes < answer.bytes) {
                // Acquire and release: what messengers read and write they do in turn.
                if (messenger.exchange_acquire(1) == 0) {
                    answer = bring_answer(parts, bytes, news);
                    messenger.store_release(0);
                }
            }
            if (answer.parts > parts) return answer.parts;
            if (bytes >= answer.bytes || late.load_relaxed() == parts) return parts;
            const std::uint64_t now = platform::nanoseconds();
            if (deadline == 0) deadline = now + patience;
            if (now >= deadline) {
                late.store_relaxed(parts);
                return parts;
            }
            platform::back_off(n);
        }
    }

private:
    /// What the messenger does. @return what it has found
    template <class News>
    HEAPWOOD_FN PartsAndBytes bring_answer(std::uint32_t parts, std::uint64_t bytes,
                                           const News& news) const {
        // Acquire: pairs with GrowthHost::answer().
        const std::uint64_t word = platform::SystemAtomicRef(mailbox->answer).load_acquire();
        // Release: passes on what the host has published, and what the news have brought about.
        const platform::AtomicRef known(words->known);
        const auto found = PartsAndBytes::of(word);
        if (known.load_relaxed() != word) {
            news(found.parts);
            known.store_release(word);
        }
        if (found.parts != parts || bytes >= found.bytes) return found;
        // One request is on its way at a time, for the most that was asked for. A smaller one goes
        // again if that was refused.
        const platform::AtomicRef posted(words->posted);
        const auto before = PartsAndBytes::of(posted.load_relaxed());
        const bool is_on_its_way =
            before.parts == parts && before.bytes >= bytes && before.bytes < found.bytes;
        if (!is_on_its_way) {
            const std::uint64_t request = PartsAndBytes{parts, bytes}.word();
            posted.store_relaxed(request);
            // Relaxed: it publishes nothing else.
            platform::SystemAtomicRef(mailbox->request).store_relaxed(request);
        }
        return found;
    }
};

/// The host's side. One thread at a time calls it.
struct GrowthHost {
    Mailbox* mailbox;

    /// The last request.
    PartsAndBytes request() const {
        return PartsAndBytes::of(platform::SystemAtomicRef(mailbox->request).load_relaxed());
    }
    /// Forgets the last request. Only while no kernel runs.
    void forget_request() const { platform::SystemAtomicRef(mailbox->request).store_relaxed(0); }
    /// Tells callers where a part of a pool of one range ends. answer() publishes it.
    void tell_end(std::uint32_t part, std::uint64_t end) const {
        platform::SystemAtomicRef(mailbox->ends[part]).store_relaxed(end);
    }
    /// Tells callers how many parts there are, and which requests are refused.
    void answer(PartsAndBytes answer) const {
        // Release: publishes the parts and their entries in the table.
        platform::SystemAtomicRef(mailbox->answer).store_release(answer.word());
    }
};

}  // namespace heapwood::allocators::heap
