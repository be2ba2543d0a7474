/// @file
/// Turns with a graph: Procedure::graph and Procedure::updates.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "allocators/measure/adjacency.cuh"
#include "allocators/measure/fragmentation.h"
#include "app/base/text.h"
#include "app/measure/workloads/graph_model.h"
#include "app/measure/workloads/task_run.h"
#include "app/measure/workloads/transfer.h"

namespace heapwood::app {
namespace {

using allocators::Blocks;
using allocators::Buffer;
using allocators::EdgeBatch;
using allocators::Stamps;
using allocators::Work;
using allocators::Workload;

/// A turn whose slots are the arrays of a graph's vertices.
class GraphRun final : public TaskRun {
public:
    using TaskRun::TaskRun;

private:
    void take() override {
        if (subject_.graph == nullptr) {
            made_ = make_graph(task_.family, task_.callers, task_.seed);
        }
        model_.emplace(graph(), task_.seed);
        sources_ = {static_cast<std::uint32_t>(scenes::mix(task_.seed) % task_.callers),
                    task_.sources};
        const allocators::Place place = subject_.machine.place();
        if (subject_.make != nullptr) {
            make_pool(task_.max_bytes, std::min(task_.callers, subject_.machine.threads()));
        }
        arrays_ = Buffer(place, std::uint64_t{task_.callers} * sizeof(void*));
        degrees_ = Buffer(place, std::uint64_t{task_.callers} * sizeof(std::uint32_t));
        sizes_ = Buffer(place, std::uint64_t{task_.callers} * sizeof(std::uint64_t));
        if (task_.procedure == Procedure::graph) {
            iterate([this] { initialise_and_free(); });
            return;
        }
        initialise(false);
        pool_->update(batch({}));  // CUDA loads a kernel at its first launch
        iterate([this] {
            update(true);
            update(false);
        });
        measure_pool();
        free_all();
    }
    void clean_up() override {
        if (!pool_ || !held_) return;
        // Where requests were refused the arrays are not those of the model.
        lay_sizes(downloaded<std::uint32_t>(degrees_));
        free_all();
    }

    /// An array for each vertex, filled; timed if `metrics`.
    void initialise(bool metrics) {
        const allocators::Place place = subject_.machine.place();
        std::vector<std::uint32_t> degrees(task_.callers);
        for (std::uint32_t v = 0; v < task_.callers; ++v) degrees[v] = graph().degree(v);
        lay_sizes(degrees);
        degrees_.write(0, degrees.data(), degrees_.size());
        arrays_.zero();
        double ms = 0;
        if (pool_) {
            held_ = true;
            ms = pool_->run(launch(Work::allocate));
        } else {
            ms = subject_.machine.place_by_prefix_sum(blocks());
        }
        judge("when the graph was made");
        const Buffer first = uploaded(place, graph().first);
        const Buffer targets = uploaded(place, graph().targets);
        const double filled = copy_edges(false, first, targets);
        if (metrics) {
            add("alloc_ms", ms);
            add("fill_ms", filled);
        }
        check();
    }

    void initialise_and_free() {
        initialise(true);
        if (pool_ && !result_.metrics.contains("live")) measure_pool();
        const double ms = pool_ ? free_all() : subject_.machine.release_placed();
        TaskRun::judge();
        if (subject_.frees) add("free_ms", ms);
        if (pool_ && !subject_.frees) pool_->reset();
    }

    /// Inserts or deletes a batch.
    void update(bool insert) {
        const EdgeLists lists =
            insert ? model_->insert(task_.edges, sources_) : model_->remove(task_.edges, sources_);
        const allocators::Place place = subject_.machine.place();
        const Buffer vertices = uploaded(place, lists.vertices);
        const Buffer first = uploaded(place, lists.first);
        const Buffer targets = uploaded(place, lists.targets);
        EdgeBatch edges = batch(lists);
        edges.insert = insert;
        edges.vertices = vertices.as<std::uint32_t>();
        edges.first = first.as<std::uint32_t>();
        edges.targets = targets.as<std::uint32_t>();
        add(insert ? "insert_ms" : "delete_ms", pool_->update(edges));
        judge(insert ? "when edges were inserted" : "when edges were deleted");
        check();
    }

    EdgeBatch batch(const EdgeLists& lists) const {
        EdgeBatch batch;
        batch.count = counting_;
        batch.sources = static_cast<std::uint32_t>(lists.vertices.size());
        batch.arrays = arrays_.as<void*>();
        batch.degrees = degrees_.as<std::uint32_t>();
        batch.counts = &state_.as<State>()->counts;
        return batch;
    }

    /// Takes over what was counted. @throws Failure that says when requests were refused.
    void judge(const char* what) {
        TaskRun::judge(false);
        const std::uint64_t refused = result_.counts.failed;
        if (refused == 0) return;
        throw Failure{Outcome::out_of_pool, grouped(refused) + " of " + grouped(task_.callers) +
                                                " vertices were refused an array " + what +
                                                "; try a larger --pool"};
    }

    /// Reads the graph back, and compares it with the model. @throws Failure.
    void check() {
        const auto corrupt = [](const std::string& what) {
            return Failure{Outcome::corrupt,
                           "blocks were overwritten while they were in use: " + what};
        };
        const auto degrees = downloaded<std::uint32_t>(degrees_);
        for (std::uint32_t v = 0; v < task_.callers; ++v) {
            if (degrees[v] != model_->degree(v)) {
                throw corrupt("vertex " + grouped(v) + " has " + grouped(degrees[v]) +
                              " edges, not " + grouped(model_->degree(v)));
            }
        }
        lay_sizes(degrees);
        if (overlap(degrees)) throw corrupt("the arrays of two vertices overlap");
        const std::vector<std::uint64_t> ends = model_->first();
        const Buffer first = uploaded(subject_.machine.place(), ends);
        const Buffer targets(subject_.machine.place(), ends.back() * sizeof(std::uint32_t));
        copy_edges(true, first, targets);
        if (const auto wrong = model_->difference(downloaded<std::uint32_t>(targets))) {
            throw corrupt(*wrong);
        }
    }

    /// Whether an array reaches into the next one.
    bool overlap(const std::vector<std::uint32_t>& degrees) const {
        struct Array {
            std::uint64_t begin, end;
        };
        const auto begins = downloaded<std::uint64_t>(arrays_);
        std::vector<Array> arrays(begins.size());
        for (std::size_t v = 0; v < begins.size(); ++v) {
            arrays[v] = {begins[v], begins[v] + allocators::adjacency_bytes(degrees[v])};
        }
        std::sort(arrays.begin(), arrays.end(),
                  [](const Array& a, const Array& b) { return a.begin < b.begin; });
        return std::adjacent_find(arrays.begin(), arrays.end(), [](const Array& a, const Array& b) {
                   return a.end > b.begin;
               }) != arrays.end();
    }

    double copy_edges(bool gather, const Buffer& first, const Buffer& targets) {
        return subject_.machine.copy_edges({.gather = gather,
                                            .vertices = task_.callers,
                                            .arrays = arrays_.as<void*>(),
                                            .first = first.as<std::uint64_t>(),
                                            .targets = targets.as<std::uint32_t>()});
    }

    /// The sizes of arrays with so many edges.
    void lay_sizes(const std::vector<std::uint32_t>& degrees) {
        std::vector<std::uint64_t> sizes(degrees.size());
        std::transform(degrees.begin(), degrees.end(), sizes.begin(), allocators::adjacency_bytes);
        sizes_.write(0, sizes.data(), sizes_.size());
    }
    Blocks blocks() const {
        return {.data = arrays_.as<void*>(),
                .slots = task_.callers,
                .min_bytes = allocators::kSmallestAdjacency,
                .max_bytes = task_.max_bytes,
                .seed = task_.seed,
                .sizes = sizes_.as<std::uint64_t>()};
    }
    Workload launch(Work work) const {
        Workload launch = workload(work, Stamps::none);
        launch.blocks = blocks();
        return launch;
    }
    /// @return milliseconds.
    double free_all() {
        held_ = false;
        return pool_->run(launch(Work::deallocate));
    }

    /// Which part of the pool the arrays are, and which its regions that hold them.
    void measure_pool() {
        const auto sizes = downloaded<std::uint64_t>(sizes_);
        double live = 0;
        for (const std::uint64_t bytes : sizes) live += static_cast<double>(bytes);
        const auto pool = static_cast<double>(pool_->pool_bytes());
        add_value("live", 100 * live / pool);
        const allocators::PoolUse use = pool_->use();
        if (use.known) add_value("taken", 100 * static_cast<double>(use.allocated_bytes) / pool);
    }

    /// As it is at first.
    const Graph& graph() const { return subject_.graph != nullptr ? *subject_.graph : made_; }

    Graph made_;  ///< where the subject has none
    std::optional<GraphModel> model_;
    SourceRange sources_;
    Buffer arrays_;   ///< by vertex
    Buffer degrees_;  ///< likewise: how many edges the array has
    Buffer sizes_;    ///< likewise: its bytes
};

}  // namespace

TaskResult keep_graph(const Subject& subject, const Task& task) {
    return GraphRun(subject, task).result();
}

}  // namespace heapwood::app
