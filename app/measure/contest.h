/// @file
/// A comparison under way: the turns of all allocators, and the journal of them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/backends/backend.h"
#include "app/cli/cli.h"
#include "app/measure/comparison.h"
#include "app/measure/interrupts.h"
#include "app/measure/journal.h"
#include "app/measure/remote.h"

namespace heapwood::app {

/// Where turns are noted until the JSON file, or else the page, is written; empty if there will be
/// none.
std::string partial(const CompareOptions& options);

/// A comparison under way.
class Contest {
public:
    /// Reads every scene once, and what the journal of an earlier run has. @throws as compare().
    Contest(const CompareOptions& options, const std::vector<const Backend*>& available);

    /// Lets all take their turns. @throws Interrupted.
    void run();

    /// What is known by now.
    Comparison& comparison() { return comparison_; }
    /// Or nullptr.
    Journal* journal() { return journal_ ? &*journal_ : nullptr; }
    /// Whether the journal lacks turns that could not be written.
    bool journal_failed() const { return journal_failed_; }
    /// The signal that run() was interrupted by.
    int signal() const { return interrupts_->signal(); }

private:
    using Json = Journal::Json;
    using Clock = std::chrono::steady_clock;

    void load_scenes();
    void make_groups();
    std::size_t number(const Group& group) const;
    /// @throws UsageError if no machine has that much.
    std::uint64_t pool_bytes(const Group& group, const Backend& backend) const;

    // In contest_journal.cpp.
    Json header() const;
    void open_journal();
    void replay();
    void note(const Group& group, std::size_t allocator, const char* what, const Json& value);

    void run_group(Group& group);
    void take_turn(Group& group, std::size_t allocator);
    void find_minimal_pool(Group& group, std::size_t allocator);
    void report_progress(const Group& group, std::size_t allocator, const std::string& what);
    double work_left() const;

    const CompareOptions& options_;
    std::vector<const Backend*> backends_;
    std::vector<PoolSize> pools_;  ///< none: default_pool_bytes
    std::vector<RemoteScene> scenes_;
    Comparison comparison_;
    /// By group and allocator: whether the search for the smallest pool is over, or not asked for.
    std::vector<std::vector<bool>> searched_;
    std::optional<Journal> journal_;
    bool journal_failed_ = false;
    std::optional<Interrupts> interrupts_;
    std::vector<Remote> remotes_;  ///< as backends_
    Clock::time_point start_;
    double work_at_start_ = 0;
};

}  // namespace heapwood::app
