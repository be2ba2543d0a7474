#include <algorithm>
#include <cctype>
#include <map>

#include "app/base/text.h"
#include "app/inputs/published.h"
#include "app/measure/builds/build_figures.h"
#include "app/measure/builds/comparison_parts.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// A scene that a paper and this run both have.
struct SharedScene {
    std::string published;  ///< the paper's name
    std::size_t ours;       ///< its number
};

/// Whether our scene is the paper's: of the same name, or of the name and the printed number of
/// triangles, as dragon_871k.
bool same_scene(const std::string& ours, const std::string& published) {
    if (ours == published) return true;
    for (const PublishedBuilds& table : published_builds()) {
        std::string triangles = table.value("N_tris", published).value_or("");
        for (char& c : triangles)
            c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (!triangles.empty() && ours == published + "_" + triangles) return true;
    }
    return false;
}

std::vector<SharedScene> shared_scenes(const Comparison& comparison, const PublishedBuilds& table) {
    std::vector<SharedScene> shared;
    const std::vector<std::string> names = scene_names(comparison);
    for (const std::string& scene : table.scenes) {
        const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
            return same_scene(name, scene);
        });
        if (found != names.end()) {
            shared.push_back({scene, static_cast<std::size_t>(found - names.begin())});
        }
    }
    return shared;
}

/// The pool of the table if it was measured, else the first.
std::size_t pool_of(const Comparison& comparison, const PublishedBuilds& table) {
    const auto& pools = comparison.pools;
    const auto found = std::find(pools.begin(), pools.end(), table.pool);
    return found == pools.end() ? 0 : static_cast<std::size_t>(found - pools.begin());
}

const Result* result_of(const Group& group, const std::string& allocator) {
    for (const Result& r : group.report.results) {
        if (r.allocator.name == allocator) return &r;
    }
    return nullptr;
}

/// Our fact of a scene: what the row is called in the papers' tables.
Cell fact(const Comparison& comparison, std::size_t scene, const std::string& row) {
    static const std::map<std::string, const char*> kKeys{{"N_ref", "references_per_triangle"},
                                                          {"N_alloc", "requests"},
                                                          {"mean_B", "mean_bytes"},
                                                          {"deviation_B", "deviation_bytes"}};
    if (row == "N_tris") return shown(comparison.scenes[scene].triangles, Unit::count);
    const auto key = kKeys.find(row);
    const Result* r = typical(comparison, scene);
    if (key == kKeys.end() || r == nullptr) return kNoValue;
    return figure_cell(build_figures(), key->second, {comparison.scenes[scene], *r});
}

/// Whether the row is of the page size of scatteralloc that was measured; others have none.
bool same_page(const Comparison& comparison, const std::string& row) {
    const std::size_t mark = row.rfind('_');
    if (mark == row.npos || row.find_first_not_of("0123456789", mark + 1) != row.npos) return true;
    std::string page = "4096";
    for (const auto& choice : comparison.common.options.run.choices) {
        if (choice.key == "page_bytes") page = choice.value;
    }
    return row.substr(mark + 1) == page;
}

/// Our time of the reference, in the table's unit, or another allocator's slowdown over it.
Cell figure(const Comparison& comparison, const PublishedBuilds& table,
            const PublishedBuildRow& row, const Group& group) {
    const Result* r = result_of(group, row.allocator);
    if (r == nullptr || !same_page(comparison, row.name)) return kNoValue;
    if (r->outcome != Outcome::done) return failed_cell(r->outcome, r->message);
    const double ms = spread(r->built.milliseconds).median;
    if (row.allocator == table.reference) {
        const double time = table.unit == "s" ? ms / 1000 : ms;
        return {fixed(time, time < 10 ? 3 : 2) + " " + table.unit, time};
    }
    const Result* reference = result_of(group, table.reference);
    if (reference == nullptr || reference->outcome != Outcome::done) return kNoValue;
    return shown(ms / spread(reference->built.milliseconds).median, Unit::factor);
}

Table side_by_side(const Comparison& comparison, const PublishedBuilds& table,
                   const std::vector<SharedScene>& shared) {
    const std::size_t pool = pool_of(comparison, table);
    Table result{.title = table.source + " (" + table.device + ", pool " + table.pool +
                          ") beside this run (pool " + comparison.pools[pool] + "): time of " +
                          table.reference + ", slowdown of the others",
                 .columns = {{""}}};
    for (const SharedScene& scene : shared) {
        result.columns.push_back({scene.published, true});
        result.columns.push_back({"ours", true});
    }
    for (const PublishedBuildRow& row : table.rows) {
        result.rows.push_back({row.name});
        for (const SharedScene& scene : shared) {
            const bool time = row.allocator == table.reference;
            const bool factor = !row.allocator.empty() && !time;
            const std::string printed = table.value(row.name, scene.published).value_or(kNoValue);
            result.rows.back().push_back(printed + (time ? " " + table.unit : factor ? "x" : ""));
            result.rows.back().push_back(
                row.allocator.empty()
                    ? fact(comparison, scene.ours, row.name)
                    : figure(comparison, table, row, group_of(comparison, scene.ours, pool)));
        }
    }
    return result;
}

}  // namespace

void add_published(const Comparison& comparison, Document& document) {
    bool any = false;
    for (const PublishedBuilds& table : published_builds()) {
        const std::vector<SharedScene> shared = shared_scenes(comparison, table);
        if (shared.empty()) continue;
        document.tables.push_back(side_by_side(comparison, table, shared));
        any = true;
    }
    document.remarks.push_back(
        {any ? "Published figures are of other GPUs, other builders and, where N_tris differs, "
               "other versions of the scenes: compare slowdowns, not times."
             : "No published table has one of these scenes: they are known by the names of their "
               "files, as sponza.obj or dragon_871k.obj."});
}

}  // namespace heapwood::app
