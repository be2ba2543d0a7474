#include "app/measure/task_run.h"

#include <new>
#include <stdexcept>

#include "allocators/memory/buffer.h"
#include "app/base/text.h"

namespace heapwood::app {

void judge(const allocators::Counts& seen, bool refusals) {
    if (seen.corrupt != 0) {
        throw Stop{Outcome::corrupt, "blocks were overwritten while they were in use: at least " +
                                         grouped(seen.corrupt) + " of them"};
    }
    if (refusals && seen.failed != 0) {
        throw Stop{Outcome::out_of_pool, grouped(seen.failed) +
                                             " requests of an iteration were refused; try a "
                                             "larger --pool"};
    }
}

TaskResult attempt(const std::function<std::unique_ptr<TaskRun>()>& make) {
    const auto ended = [](Outcome outcome, const std::string& why) {
        return TaskResult{.outcome = outcome, .message = why, .counts = {}, .metrics = {}};
    };
    try {
        const std::unique_ptr<TaskRun> turn = make();
        try {
            return turn->take();
        } catch (const Stop& stop) {
            // A pool that was overwritten is left alone: freeing could take the process down.
            if (stop.outcome != Outcome::corrupt) turn->clean_up();
            TaskResult result = ended(stop.outcome, stop.message);
            result.counts = turn->counts();
            return result;
        }
    } catch (const std::invalid_argument& error) {
        return ended(Outcome::out_of_memory, error.what());
    } catch (const allocators::BufferError& error) {
        return ended(Outcome::out_of_memory, error.what());
    } catch (const std::bad_alloc&) {
        return ended(Outcome::out_of_memory, "the machine's memory ran out");
    } catch (const std::exception& error) {
        return ended(Outcome::failed, error.what());
    }
}

}  // namespace heapwood::app
