/// @file
/// Matrix Market files, and what is made of a graph that is read.
#include <algorithm>

#include "app/inputs/input_lines.h"
#include "app/inputs/matrix_market.h"
#include "scenes/scene.h"
#include "tests/fuzz/input_file.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    const fuzz::InputFile input(fuzz::text_of(data, size));
    try {
        const app::Graph graph = app::read_matrix_market(input.path());
        fuzz::demand(!graph.targets.empty(), "a graph without an edge");
        fuzz::demand(graph.first.front() == 0 && graph.first.back() == graph.targets.size(),
                     "the bounds of the targets");
        fuzz::demand(std::is_sorted(graph.first.begin(), graph.first.end()), "the bounds' order");
        for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
            for (std::uint64_t i = graph.first[v]; i < graph.first[v + 1]; ++i) {
                const std::uint32_t target = graph.targets[i];
                fuzz::demand(target < graph.vertices() && target != v, "a target");
                fuzz::demand(i == graph.first[v] || graph.targets[i - 1] < target, "an order");
                const auto there = graph.targets.begin();
                fuzz::demand(std::binary_search(
                                 there + static_cast<std::ptrdiff_t>(graph.first[target]),
                                 there + static_cast<std::ptrdiff_t>(graph.first[target + 1]), v),
                             "the other direction");
            }
        }
        const app::GraphFile file = app::facts_of(graph, input.path());
        fuzz::demand(file.greatest_degree > 0 && file.greatest_degree < file.vertices, "a degree");
    } catch (const app::InputError&) {
        // The right answer to what is no graph.
    } catch (const scenes::SceneError&) {
        // Or to what cannot be decompressed.
    }
    return 0;
}
