#include "app/measure/engine/worker_pool.h"

#include <chrono>
#include <utility>

#include "app/base/json_line.h"
#include "app/base/text.h"
#include "app/measure/engine/lines.h"
#include "app/measure/engine/worker.h"

namespace heapwood::app {
namespace {

Answer failure(Outcome outcome, std::string why) {
    return {.sample = {}, .outcome = outcome, .message = std::move(why)};
}

}  // namespace

std::vector<std::string> worker_arguments(const std::vector<std::string>& arguments,
                                          const std::string& runner) {
    std::vector<std::string> all{arguments.front(), kWorkerVerb, runner};
    all.insert(all.end(), arguments.begin() + 1, arguments.end());
    return all;
}

void WorkerPool::prepare(const Runner& runner, const Setting& setting) {
    Worker& worker = workers_[runner.name];
    const bool same = worker.setting.load == setting.load;
    if (same && (worker.child || worker.failure)) return;
    worker.setting = setting;
    worker.loaded = false;
    worker.failure.reset();
    if (!worker.child) {
        worker.child = std::make_unique<Child>(worker_arguments(arguments_, runner.name));
    }
    // Whether it arrives is seen when the answer is awaited.
    static_cast<void>(worker.child->lines().send(json_line(setting.load)));
}

void WorkerPool::await(const Runner& runner) {
    Worker& worker = workers_[runner.name];
    if (!worker.child || worker.loaded) return;
    Answer answer = receive(worker, worker.setting.seconds);
    if (answer.outcome == Outcome::done && !answer.sample.contains("digest")) {
        answer = nonsense(dumped(answer.sample));
    } else if (answer.outcome == Outcome::done &&
               answer.sample.at("digest") != worker.setting.digest) {
        answer = failure(Outcome::failed, "the input has changed since it was first read");
    }
    worker.loaded = answer.outcome == Outcome::done;
    if (worker.loaded) return;
    worker.child.reset();
    worker.failure = std::move(answer);
}

Answer WorkerPool::receive(Worker& worker, double seconds) const {
    const auto limit =
        std::chrono::duration_cast<Lines::Clock::duration>(std::chrono::duration<double>(seconds));
    std::string line;
    switch (worker.child->lines().receive(line, Lines::Clock::now() + limit, interrupts_)) {
        case Arrival::line:
            break;
        case Arrival::interrupted:
            throw Interrupted();
        case Arrival::late:
            return failure(Outcome::hang, "no end within the limit of " + shortest(seconds) + " s");
        case Arrival::closed:
            return failure(Outcome::crashed, "its process " + worker.child->end());
        case Arrival::flood:
            return failure(Outcome::crashed, "its process answered without an end");
    }
    Json answer = from_json_line(line);
    if (!answer.is_object()) return nonsense(line);
    if (answer.contains("failure")) return failure(Outcome::failed, answer.value("failure", ""));
    return {.sample = std::move(answer), .outcome = Outcome::done, .message = ""};
}

Answer WorkerPool::ask(const Runner& runner, const Setting& setting, const Request& request,
                       double seconds) {
    if (has_lasting_heap(runner)) {
        const std::uint64_t kept = workers_[runner.name].heap_bytes;
        const bool suits =
            request.exact_heap ? kept == request.heap_bytes : kept >= request.heap_bytes;
        if (kept != 0 && !suits) stop(runner);
        std::uint64_t& heap = workers_[runner.name].heap_bytes;
        if (heap == 0) heap = request.heap_bytes;
    }
    prepare(runner, setting);
    await(runner);
    Worker& worker = workers_[runner.name];
    Answer answer;
    if (worker.failure) {
        answer = std::move(*worker.failure);
    } else {
        const auto begin = Lines::Clock::now();
        static_cast<void>(worker.child->lines().send(json_line(request.work)));
        answer = receive(worker, seconds);
        answer.seconds = std::chrono::duration<double>(Lines::Clock::now() - begin).count();
    }
    // After a CUDA error or a stray write a process is of no more use.
    const Json outcome = answer.sample.is_null() ? Json() : answer.sample.value("outcome", Json());
    if (answer.outcome != Outcome::done || outcome == name(Outcome::failed) ||
        outcome == name(Outcome::corrupt)) {
        stop(runner);
    }
    return answer;
}

}  // namespace heapwood::app
