#include "app/base/text.h"
#include "app/base/version.h"
#include "app/inspect/inspect_report.h"
#include "app/measure/builds/result_json.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

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
         {"cost", "SAH(" + shortest(origin.options.config.traversal_cost) + ", " +
                      shortest(origin.options.config.intersection_cost) + ") " +
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

/// A level and its depth.
struct LevelOf {
    const Level& level;
    std::size_t depth;
};

std::vector<LevelOf> levels_of(const InspectReport& report) {
    std::vector<LevelOf> levels;
    for (const Level& level : report.tree.levels) levels.push_back({level, levels.size()});
    return levels;
}

const Shape<LevelOf>& level_shape() {
    static const Shape<LevelOf> shape = [] {
        using Of = LevelOf;
        Shape<Of> all;
        all.field("depth", [](const Of& l) { return l.depth; })
            .field("inner_nodes", [](const Of& l) { return l.level.inner_nodes; })
            .field(
                "leaves", [](const Of& l) { return l.level.leaves; }, "with references")
            .field("empty_leaves", [](const Of& l) { return l.level.empty_leaves; })
            .field("references", [](const Of& l) { return l.level.references; })
            .field(
                "traversal_cost", [](const Of& l) { return l.level.traversal_cost; },
                "the level's part of Ct I")
            .field(
                "intersection_cost", [](const Of& l) { return l.level.intersection_cost; },
                "the level's part of Ci P");
        return all;
    }();
    return shape;
}

Shape<Bucket> bucket_shape(const char* what) {
    Shape<Bucket> shape;
    shape.field("from", [](const Bucket& b) { return b.from; })
        .field(
            "to", [](const Bucket& b) { return b.to; }, "inclusive")
        .field(
            "count", [](const Bucket& b) { return b.count; }, what)
        .field(
            "references", [](const Bucket& b) { return b.references; }, "of all of them");
    return shape;
}

Shape<CostlyLeaf> leaf_shape() {
    using Of = CostlyLeaf;
    Shape<Of> shape;
    shape
        .field(
            "node", [](const Of& l) { return l.node; }, "its number")
        .field("depth", [](const Of& l) { return l.depth; })
        .field("references", [](const Of& l) { return l.references; })
        .field(
            "cost", [](const Of& l) { return l.cost; }, "Ci times its part of P")
        .put("lo", vector_schema(), [](const Of& l) { return vector_json(l.cell.lo); })
        .put("hi", vector_schema(), [](const Of& l) { return vector_json(l.cell.hi); });
    return shape;
}

Shape<SpreadTriangle> triangle_shape() {
    Shape<SpreadTriangle> shape;
    shape
        .field(
            "triangle", [](const SpreadTriangle& t) { return t.triangle; }, "its number")
        .field(
            "leaves", [](const SpreadTriangle& t) { return t.leaves; }, "that it is in");
    return shape;
}

Shape<InspectReport> tree_shape() {
    using Of = InspectReport;
    const auto quality = [](auto member) {
        return [=](const Of& r) { return r.tree.quality.*member; };
    };
    using kdtree::Quality;
    Shape<Of> shape;
    shape.field("digest", [](const Of& r) { return Digest{r.tree_digest}; })
        .field("nodes", quality(&Quality::nodes), "", at_least(1))
        .field("leaves", quality(&Quality::leaves), "empty ones included", at_least(1))
        .field("empty_leaves", quality(&Quality::empty_leaves))
        .field("references", quality(&Quality::references))
        .field("depth", quality(&Quality::max_depth), "of the deepest leaf")
        .field("largest_leaf", quality(&Quality::largest_leaf), "references")
        .field("I", quality(&Quality::I), "inner nodes that a random ray meets")
        .field("L", quality(&Quality::L), "leaves")
        .field("P", quality(&Quality::P), "triangle tests")
        .field(
            "cost", [](const Of& r) { return r.tree.cost; }, "Ct I + Ci P");
    return shape;
}

const Shape<InspectReport>& inspect_shape() {
    static const Shape<InspectReport> shape = [] {
        using Of = InspectReport;
        const auto origin = [](const Of& r) -> const Report& { return r.origin; };
        Shape<Bucket> leaf_sizes = bucket_shape("leaves");
        leaf_sizes.field(
            "cost", [](const Bucket& b) { return b.cost; }, "Ci times their part of P");
        Shape<Of> all;
        all.constant("schema", kSchema)
            .constant("kind", "inspect")
            .object("provenance", provenance_shape(), origin, "where the figures come from")
            .object("scene", scene_shape(), origin)
            .object("tree", tree_shape(), [](const Of& r) -> const Of& { return r; })
            .array("levels", level_shape(), levels_of, "by depth", 1)
            .array(
                "leaf_sizes", leaf_sizes,
                [](const Of& r) -> const auto& { return r.tree.leaf_sizes; },
                "leaves by how many references they have", 1)
            .array(
                "duplications", bucket_shape("triangles"),
                [](const Of& r) -> const auto& { return r.tree.duplications; },
                "triangles by how many leaves they are in", 1)
            .array(
                "costly_leaves", leaf_shape(),
                [](const Of& r) -> const auto& { return r.tree.costly_leaves; }, "the worst first")
            .array(
                "spread_triangles", triangle_shape(),
                [](const Of& r) -> const auto& { return r.tree.spread_triangles; },
                "the worst first");
        return all;
    }();
    return shape;
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
    for (const LevelOf& level : levels_of(report)) {
        Record record{{"scene", report.origin.scene_path},
                      {"version", version().version},
                      {"git", version().git},
                      {"digest", hex(report.tree_digest)}};
        const Json json = level_shape().json(level);
        for (const auto& [key, value] : json.items()) record.emplace_back(key, value);
        add_record(document.records, record);
    }
    document.data = inspect_shape().json(report);
    return document;
}

Json inspect_schema() {
    return document_schema("Heapwood's report of a tree's inside (heapwood inspect --json)",
                           inspect_shape());
}

}  // namespace heapwood::app
