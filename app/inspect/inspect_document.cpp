#include "app/base/text.h"
#include "app/base/version.h"
#include "app/inspect/inspect_report.h"
#include "app/measure/builds/result_json.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/inspect.schema.json; a reader may rely on it.
constexpr int kInspectSchema = 1;

constexpr const char* kLevels = "By depth";
constexpr const char* kLeafSizes = "Leaves by references";
constexpr const char* kDuplications = "Triangles by leaves that they are in";

std::string range_text(const Bucket& bucket) {
    return bucket.from == bucket.to ? grouped(bucket.from)
                                    : grouped(bucket.from) + " to " + grouped(bucket.to);
}

std::string point_text(const glm::vec3& p) {
    return shortest(p.x) + " " + shortest(p.y) + " " + shortest(p.z);
}

/// Bars for what is above zero: their axis is logarithmic.
class Bars {
public:
    Bars(const char* table, const char* title)
        : plot_{.table = table, .title = title, .x = "", .y = ""} {}

    void add(const std::string& name, double value, const Cell& shown) {
        if (value > 0) plot_.lines.push_back({.name = name, .points = {{0, value, shown.text}}});
    }
    const Plot& plot() const { return plot_; }

private:
    Plot plot_;
};

Table summary(const InspectReport& report) {
    const Report& origin = report.origin;
    const kdtree::Quality& q = report.tree.quality;
    Table table = facts_table(
        "",
        {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles"},
         {"tree", grouped(q.nodes) + " nodes, " + grouped(q.leaves) + " leaves (" +
                      grouped(q.empty_leaves) + " empty), depth " + std::to_string(q.max_depth) +
                      ", " + fixed(q.references_per_triangle, 2) + " references per triangle"},
         {"cost", "SAH(" + shortest(origin.configuration.traversal_cost) + ", " +
                      shortest(origin.configuration.intersection_cost) + ") " +
                      fixed(report.tree.cost, 2) + ": a random ray meets " + fixed(q.I, 2) +
                      " inner nodes, " + fixed(q.L, 2) + " leaves and " + fixed(q.P, 2) +
                      " triangles"},
         {"digest", hex(report.tree_digest)}});
    if (!report.boxes.empty()) table.rows.push_back({"boxes", report.boxes});
    return table;
}

void add_levels(const InspectReport& report, Document& document) {
    Table table{.title = kLevels,
                .columns = {{"depth", true},
                            {"inner nodes", true},
                            {"leaves", true},
                            {"empty", true},
                            {"references", true},
                            {"cost of nodes", true},
                            {"cost of tests", true}}};
    Bars leaves(kLevels, "Leaves with references");
    Bars cost(kLevels, "Part of the cost, in percent");
    for (std::size_t depth = 0; depth < report.tree.levels.size(); ++depth) {
        const Level& level = report.tree.levels[depth];
        const double share = report.tree.share(level.traversal_cost + level.intersection_cost);
        table.rows.push_back({shown(depth, Unit::count), shown(level.inner_nodes, Unit::count),
                              shown(level.leaves, Unit::count),
                              shown(level.empty_leaves, Unit::count),
                              shown(level.references, Unit::count),
                              shown(report.tree.share(level.traversal_cost), Unit::fraction),
                              shown(report.tree.share(level.intersection_cost), Unit::fraction)});
        leaves.add(std::to_string(depth), static_cast<double>(level.leaves),
                   shown(level.leaves, Unit::count));
        cost.add(std::to_string(depth), 100 * share, shown(share, Unit::fraction));
    }
    document.tables.push_back(table);
    document.plots.push_back(leaves.plot());
    document.plots.push_back(cost.plot());
}

void add_leaf_sizes(const InspectReport& report, Document& document) {
    Table table{.title = kLeafSizes,
                .columns = {{"references"},
                            {"leaves", true},
                            {"of all", true},
                            {"all references", true},
                            {"part of the cost", true}}};
    Bars leaves(kLeafSizes, "Leaves");
    for (const Bucket& bucket : report.tree.leaf_sizes) {
        const double part =
            static_cast<double>(bucket.count) / static_cast<double>(report.tree.quality.leaves);
        table.rows.push_back({range_text(bucket), shown(bucket.count, Unit::count),
                              shown(part, Unit::fraction), shown(bucket.references, Unit::count),
                              shown(report.tree.share(bucket.cost), Unit::fraction)});
        leaves.add(range_text(bucket), static_cast<double>(bucket.count),
                   shown(bucket.count, Unit::count));
    }
    document.tables.push_back(table);
    document.plots.push_back(leaves.plot());
}

void add_duplications(const InspectReport& report, Document& document) {
    Table table{
        .title = kDuplications,
        .columns = {{"leaves"}, {"triangles", true}, {"of all", true}, {"references", true}}};
    Bars triangles(kDuplications, "Triangles");
    for (const Bucket& bucket : report.tree.duplications) {
        const double part =
            static_cast<double>(bucket.count) / static_cast<double>(report.origin.triangles);
        table.rows.push_back({range_text(bucket), shown(bucket.count, Unit::count),
                              shown(part, Unit::fraction), shown(bucket.references, Unit::count)});
        triangles.add(range_text(bucket), static_cast<double>(bucket.count),
                      shown(bucket.count, Unit::count));
    }
    document.tables.push_back(table);
    document.plots.push_back(triangles.plot());
    Table worst{.title = "Triangles that are in the most leaves",
                .columns = {{"triangle", true}, {"leaves", true}}};
    for (const SpreadTriangle& spread : report.tree.spread_triangles) {
        worst.rows.push_back(
            {shown(spread.triangle, Unit::count), shown(spread.leaves, Unit::count)});
    }
    document.tables.push_back(worst);
}

Table costly_leaves(const InspectReport& report) {
    Table table{.title = "Leaves that cost the most",
                .columns = {{"node", true},
                            {"depth", true},
                            {"references", true},
                            {"part of the cost", true},
                            {"cell from"},
                            {"to"}}};
    for (const CostlyLeaf& leaf : report.tree.costly_leaves) {
        table.rows.push_back({shown(leaf.node, Unit::count), shown(leaf.depth, Unit::count),
                              shown(leaf.references, Unit::count),
                              shown(report.tree.share(leaf.cost), Unit::fraction),
                              point_text(leaf.cell.lo), point_text(leaf.cell.hi)});
    }
    return table;
}

Json level_json(const Level& level, std::size_t depth) {
    return {{"depth", depth},
            {"inner_nodes", level.inner_nodes},
            {"leaves", level.leaves},
            {"empty_leaves", level.empty_leaves},
            {"references", level.references},
            {"traversal_cost", level.traversal_cost},
            {"intersection_cost", level.intersection_cost}};
}

Json buckets_json(const std::vector<Bucket>& buckets, bool of_leaves) {
    Json all = Json::array();
    for (const Bucket& bucket : buckets) {
        Json& json = all.emplace_back(Json{{"from", bucket.from},
                                           {"to", bucket.to},
                                           {"count", bucket.count},
                                           {"references", bucket.references}});
        if (of_leaves) json["cost"] = bucket.cost;
    }
    return all;
}

Json tree_json(const InspectReport& report) {
    const kdtree::Quality& q = report.tree.quality;
    return {{"digest", hex(report.tree_digest)},
            {"nodes", q.nodes},
            {"leaves", q.leaves},
            {"empty_leaves", q.empty_leaves},
            {"references", q.references},
            {"depth", q.max_depth},
            {"largest_leaf", q.largest_leaf},
            {"I", q.I},
            {"L", q.L},
            {"P", q.P},
            {"cost", report.tree.cost}};
}

}  // namespace

Document document_of(const InspectReport& report) {
    Document document{.title = "heapwood inspect", .tables = {summary(report)}};
    add_levels(report, document);
    add_leaf_sizes(report, document);
    add_duplications(report, document);
    document.tables.push_back(costly_leaves(report));
    document.remarks = {
        {"Costs are parts of the tree's SAH: of Ct for each inner node, and of Ci "
         "for each test, that a random ray meets."}};
    Json levels = Json::array();
    for (std::size_t depth = 0; depth < report.tree.levels.size(); ++depth) {
        levels.push_back(level_json(report.tree.levels[depth], depth));
        Record record{{"scene", report.origin.scene_path},
                      {"version", version().version},
                      {"git", version().git},
                      {"digest", hex(report.tree_digest)}};
        for (const auto& [key, value] : levels.back().items()) record.emplace_back(key, value);
        add_record(document.records, record);
    }
    Json leaves = Json::array();
    for (const CostlyLeaf& leaf : report.tree.costly_leaves) {
        leaves.push_back({{"node", leaf.node},
                          {"depth", leaf.depth},
                          {"references", leaf.references},
                          {"cost", leaf.cost},
                          {"lo", vector_json(leaf.cell.lo)},
                          {"hi", vector_json(leaf.cell.hi)}});
    }
    Json triangles = Json::array();
    for (const SpreadTriangle& spread : report.tree.spread_triangles) {
        triangles.push_back({{"triangle", spread.triangle}, {"leaves", spread.leaves}});
    }
    document.data = {{"schema", kInspectSchema},
                     {"kind", "inspect"},
                     {"provenance", provenance_json(report.origin)},
                     {"scene", scene_json(report.origin)},
                     {"tree", tree_json(report)},
                     {"levels", levels},
                     {"leaf_sizes", buckets_json(report.tree.leaf_sizes, true)},
                     {"duplications", buckets_json(report.tree.duplications, false)},
                     {"costly_leaves", leaves},
                     {"spread_triangles", triangles}};
    return document;
}

}  // namespace heapwood::app
