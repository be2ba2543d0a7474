/// @file
/// A plan carried out: its schedule with processes and a journal, until it is done or interrupted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/base/exit_code.h"
#include "app/measure/engine/interrupts.h"
#include "app/measure/engine/journal.h"
#include "app/measure/engine/schedule.h"
#include "app/measure/engine/worker_pool.h"

namespace heapwood::app {

/// Where turns are noted.
struct NotesFile {
    std::string resume;   ///< file of an earlier run to go on from, or to be made; or empty
    std::string results;  ///< else in FILE.partial beside this one; empty, "-" or a device: nowhere
};

/// Which of a run's files its journal is beside; empty: neither.
const std::string& results_file(const std::string& json, const std::string& html);

/// The journal beside a file of results; nothing where there is no such file or will be none.
std::string partial_file(const std::string& results);

/// What the journal of a run begins with: all that has to be the same where it goes on.
Json header_of(const Plan& plan);

/// A plan that is carried out. From its construction on it notes a first
/// signal.
class Engine {
public:
    /// Takes over the turns in the journal of an earlier run.
    /// @param arguments the program's command line, which workers read as well.
    /// @throws UsageError for a journal that is damaged, in use or of another run.
    Engine(Plan& plan, const std::vector<std::string>& arguments, NotesFile notes);

    /// Takes all turns that are left. What ends it early is told, with the way to go on.
    void run();

    /// To be called once results were, or were not, written in full: takes FILE.partial away if it
    /// is of no more use. @return `done`, or why the run is none.
    ExitCode finish(bool written);

private:
    void open_journal();
    std::string how_to_resume() const;
    void note(const Json& entry);

    Plan& plan_;
    NotesFile notes_;
    std::string partial_;
    std::optional<Journal> journal_;
    bool journal_failed_ = false;
    Interrupts interrupts_;
    WorkerPool workers_;
    Schedule schedule_;
    ExitCode code_ = ExitCode::done;
};

}  // namespace heapwood::app
