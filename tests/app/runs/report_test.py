"""The JSON report against its schema and against itself."""

import copy
import csv
import io
import random
import unittest

from command_line import DONE, MODELS, allocators, build, folder, report, run
from schemas import violations

KIND = "build"


def at(json_value, path):
    """The parent of a dotted path's end, and the last key."""
    *parents, key = path.split(".")
    for parent in parents:
        json_value = json_value[int(parent) if parent.isdigit() else parent]
    return json_value, key


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = allocators()
        cls.report = report(MODELS / "cottage.obj", "--allocator", "all", "--repeat", 3, "--verify")

    def test_reports_conform(self):
        for found in (
            self.report,
            report(MODELS / "gem.obj", "--no-statistics", "--no-clip"),
            report(MODELS / "gem.obj", "--method", "single,levels", "--host-pool", "off"),
            report(MODELS / "gem.obj", "--pool", "1KiB", code=4),
        ):
            self.assertEqual(violations(found, KIND), [])

    def test_the_check_can_fail(self):
        changes = {
            "schema": 2,
            "provenance.date": "today",
            "scene.triangles": 0,
            "results": [],
            "results.0.outcome": "fine",
            "results.0.build.ms.samples": [],
            "results.0.tree.digest": 17,
            "results.0.fragmentation.internal": -1,
            "results.0.fragmentation.peak.external": 1.5,
            "results.0.tree.nodes": True,
        }
        for path, value in changes.items():
            wrong = copy.deepcopy(self.report)
            parent, key = at(wrong, path)
            parent[key] = value
            self.assertNotEqual(violations(wrong, KIND), [], path)
            del parent[key]
            self.assertNotEqual(violations(wrong, KIND), [], path)
        self.assertNotEqual(violations({**self.report, "more": 1}, KIND), [])

    def test_scene(self):
        scene = self.report["scene"]
        lines = (MODELS / "cottage.obj").read_text().replace("\\\n", " ").splitlines()
        vertices = [tuple(map(float, line.split()[1:4])) for line in lines if line[:2] == "v "]
        corners = [len(line.split()) - 1 for line in lines if line[:2] == "f "]
        self.assertEqual(scene["vertices"], len(vertices))
        self.assertEqual(scene["triangles"], sum(corners) - 2 * len(corners))
        for i in range(3):
            self.assertAlmostEqual(scene["bounds"]["lo"][i], min(v[i] for v in vertices), 4)
            self.assertAlmostEqual(scene["bounds"]["hi"][i], max(v[i] for v in vertices), 4)

    def test_builds(self):
        self.assertEqual([r["build"]["allocator"] for r in self.report["results"]], self.names)
        self.assertEqual(len({r["tree"]["digest"] for r in self.report["results"]}), 1)
        for result in self.report["results"]:
            ms = result["build"]["ms"]
            self.assertEqual(len(ms["samples"]), 3)
            self.assertEqual(ms["min"], min(ms["samples"]))
            self.assertEqual(ms["max"], max(ms["samples"]))
            self.assertEqual(ms["median"], sorted(ms["samples"])[1])
            self.assertIsNone(result["registers"])
            self.assertIsNone(result["build"]["upload_ms"])
        reference = next(r for r in self.report["results"] if r["build"]["slowdown"] == 1)
        self.assertEqual(reference["build"]["allocator"], "atomicmalloc")

    def test_memory(self):
        found = report(MODELS / "cottage.obj", "--method", "single,levels")
        for result in self.report["results"] + found["results"]:
            memory = dict(result["memory"])
            self.assertEqual(memory.pop("total_bytes"), sum(memory.values()))
            self.assertEqual(memory["triangles_bytes"], 48 * self.report["scene"]["triangles"])
            self.assertGreaterEqual(memory["nodes_bytes"], 8 * result["tree"]["nodes"])
            self.assertGreaterEqual(memory["references_bytes"], 4 * result["tree"]["references"])
            if result["build"]["method"] == "levels":
                self.assertEqual(memory["pool_bytes"] + memory["large_nodes_bytes"], 0)
                self.assertGreater(memory["levels_bytes"], 32 * self.report["scene"]["triangles"])
            else:
                self.assertEqual(memory["pool_bytes"], result["build"]["pool_bytes"])
                self.assertEqual(memory["side_tables_bytes"], result["build"]["overhead_bytes"])
                self.assertEqual(memory["levels_bytes"], 0)

    def test_trees(self):
        for result in self.report["results"]:
            tree = result["tree"]
            self.assertTrue(tree["verified"])
            self.assertEqual(tree["nodes"], 2 * tree["leaves"] - 1)
            self.assertAlmostEqual(tree["sah_1_1_5"], tree["I"] + 1.5 * tree["P"])
            per_triangle = tree["references"] / self.report["scene"]["triangles"]
            self.assertAlmostEqual(tree["references_per_triangle"], per_triangle)

    def test_allocations(self):
        for result in self.report["results"]:
            counted = result["allocations"]
            in_bins = sum(entry["requests"] for entry in counted["histogram"])
            self.assertEqual(in_bins, counted["requests"])
            self.assertEqual(counted["failed"], 0)
            self.assertGreater(counted["peak_live_bytes"], 0)
            if result["build"]["allocator"] == "cudamalloc":
                self.assertIsNone(result["build"]["leaked_bytes"], "unknown, never 0")
            else:
                frees = result["build"]["allocator"] not in ("atomicmalloc", "fdgmalloc")
                self.assertEqual(result["build"]["leaked_bytes"] == 0, frees)
            if result["build"]["allocator"] == "cambium":
                # One request for both children, a free for each of them.
                self.assertGreater(counted["frees"], counted["requests"])
            elif result["build"]["full_allocator"]:
                self.assertEqual(counted["requests"], counted["frees"])
        by_name = {r["build"]["allocator"]: r["fragmentation"] for r in self.report["results"]}
        self.assertIsNone(by_name["cudamalloc"]["external"], "unknown, never 0")
        self.assertIsNotNone(by_name["cmalloc"]["internal"])
        self.assertIsNotNone(by_name["cmalloc"]["external"])

    def test_peak(self):
        found = report(MODELS / "cottage.obj", "--allocator", "all", "--threads", 1)
        for result in found["results"]:
            peak = result["fragmentation"]["peak"]
            if result["build"]["allocator"] == "cudamalloc":
                self.assertIsNone(peak, "unknown, never 0")
                continue
            # One thread comes as far every time.
            self.assertEqual(peak["live_bytes"], result["allocations"]["peak_live_bytes"])
            self.assertGreaterEqual(peak["allocated_bytes"], peak["live_bytes"])
            if result["build"]["allocator"] == "atomicmalloc":
                self.assertEqual(peak["allocated_bytes"], peak["live_bytes"])
                self.assertEqual((peak["internal"], peak["external"]), (0, 0))

    def test_heap_map(self):
        arguments = (MODELS / "cottage.obj", "--allocator", "all", "--threads", 1)
        for result in report(*arguments, "--heap-map")["results"]:
            cells, name = result["heap_map"], result["build"]["allocator"]
            if name == "cudamalloc":
                self.assertIsNone(cells, "its pool cannot be walked")
                continue
            self.assertLessEqual(cells["reach_bytes"], result["build"]["pool_bytes"])
            # Ninths of cells are rounded up, so they are at least what is allocated.
            allocated = sum(map(int, cells["peak_fill"])) * cells["cell_bytes"] / 9
            self.assertGreaterEqual(allocated, result["fragmentation"]["peak"]["allocated_bytes"])
            live = set(cells["end_blocks"]) - set(".-")
            self.assertEqual(live == set(), result["build"]["leaked_bytes"] == 0, name)
        self.assertIsNone(report(*arguments)["results"][0]["heap_map"])

    def test_minimal_pool(self):
        arguments = (MODELS / "cottage.obj", "--allocator", "atomicmalloc", "--threads", 1)
        minimal = report(*arguments, "--minimal-pool")["results"][0]["build"]["minimal_pool_bytes"]
        # One thread needs the same every time.
        report(*arguments, "--pool", f"{minimal}B")
        report(*arguments, "--pool", f"{minimal * 97 // 100}B", code=4)

    def test_no_statistics(self):
        result = report(MODELS / "gem.obj", "--no-statistics")["results"][0]
        self.assertIsNone(result["allocations"])
        self.assertIsNone(result["fragmentation"]["internal"])
        self.assertIsNone(result["fragmentation"]["peak"])

    def test_provenance(self):
        provenance = self.report["provenance"]
        self.assertEqual(provenance["arguments"][1:4], ["build", "--device", "cpu"])
        self.assertEqual(provenance["configuration"]["empty_bonus"], 0.8)
        changed = report(MODELS / "gem.obj", "--empty-bonus", "0.7", "--leaf-limit", 8, "--no-clip",
                         "--traversal-cost", 2, "--pool", "40x")
        configuration = changed["provenance"]["configuration"]
        self.assertEqual(configuration["empty_bonus"], 0.7)
        self.assertEqual(configuration["leaf_limit"], 8)
        self.assertFalse(configuration["clip"])
        result = changed["results"][0]
        self.assertEqual(result["build"]["pool_multiple"], 40)
        self.assertAlmostEqual(result["tree"]["sah"],
                               2 * result["tree"]["I"] + 1.5 * result["tree"]["P"])

    def test_every_parameter_has_an_option(self):
        wanted = {"traversal_cost": 3, "intersection_cost": 2.5, "empty_bonus": 0.7,
                  "empty_rule": "tests", "leaf_limit": 5, "leaf_area": 2.5, "depth_base": 7,
                  "depth_factor": 1.1, "bad_split_ratio": 0.8, "bad_splits": 2,
                  "bad_splits_per_level": 0.1, "hopeless_ratio": 3, "exact_limit": 20,
                  "planes": 40, "snap_limit": 100, "large_limit": 300, "chunk": 64,
                  "max_duplication": 20,
                  "max_nodes": 100000, "max_references": 200000}
        arguments = [word for name, value in wanted.items()
                     for word in ("--" + name.replace("_", "-"), value)]
        changed = report("gen:soup:500", *arguments, "--no-clip", "--no-tight-cuts")
        configuration = changed["provenance"]["configuration"]
        wanted.update(preset="default", clip=False, tight_cuts=False, small_arrays=True)
        self.assertEqual(configuration, wanted)

    def test_presets(self):
        def configuration(*arguments):
            return report("gen:soup:500", *arguments)["provenance"]["configuration"]
        default = configuration("--preset", "default")
        self.assertEqual(default, configuration())
        paper = configuration("--preset", "paper")
        self.assertEqual((paper["preset"], paper["planes"], paper["clip"]), ("paper", 32, False))
        pbrt = configuration("--preset", "pbrt")
        self.assertEqual((pbrt["preset"], pbrt["intersection_cost"]), ("pbrt", 80))
        # What is given beside the preset overrides it, whatever the order.
        other = {**paper, "leaf_limit": 4, "clip": True, "empty_rule": "tests"}
        words = ("--leaf-limit", 4, "--clip", "--empty-rule", "tests")
        self.assertEqual(configuration("--preset", "paper", *words), other)
        self.assertEqual(configuration(*words, "--preset", "paper"), other)

    def test_scene_digest_is_of_the_geometry(self):
        digests = [report(scene)["provenance"]["scene_digest"]
                   for scene in ("gen:soup:50", "gen:soup:50:1", "gen:soup:50:2")]
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])


class OtherForms(unittest.TestCase):
    def test_csv_agrees_with_json(self):
        arguments = (MODELS / "gem.obj", "--allocator", "atomicmalloc,cudamalloc,cmalloc",
                     "--threads", 1)
        rows = list(csv.DictReader(io.StringIO(build(*arguments, "--csv").stdout)))
        found = report(*arguments)
        self.assertEqual(len(rows), 3)
        for row, result in zip(rows, found["results"]):
            self.assertEqual(row["allocator"], result["build"]["allocator"])
            self.assertEqual(row["scene"], found["scene"]["path"])
            for section, keys in (("tree", ("nodes", "references", "I", "L", "P", "digest")),
                                  ("allocations", ("requests", "frees", "mean_bytes"))):
                for key in keys:
                    self.assertEqual(row[key], str(result[section][key]).removesuffix(".0"))
            self.assertEqual(row["registers"], "")
        self.assertEqual(rows[1]["external_fragmentation"], "")

    def test_markdown_is_tables(self):
        text = build(MODELS / "gem.obj", "--markdown").stdout
        block = [line for line in text.split("### Times")[1].split("###")[0].splitlines() if line]
        self.assertEqual(len({line.count("|") for line in block}), 1)
        self.assertTrue(block[1].startswith("| ---"))

    def test_slowdown_needs_its_reference(self):
        alone = build(MODELS / "gem.obj", "--allocator", "cmalloc", "--csv").stdout
        self.assertEqual(next(csv.DictReader(io.StringIO(alone)))["slowdown"], "")


class UndividedTrees(unittest.TestCase):
    """Trees through which a ray tests most of the triangles are told, with an option that helps."""

    FACT = "The tree hardly divides the triangles"
    ADVICE = "--bad-splits 12"

    @staticmethod
    def said(verb, scene, *arguments):
        result = run(verb, scene, "-d", "cpu", *arguments)
        assert result.returncode == DONE, result.stderr
        return " ".join(result.stdout.split())

    def built(self, scene, *arguments):
        return self.said("build", scene, "--repeat", 1, "--no-statistics", *arguments)

    @staticmethod
    def sticks(count):
        """Long thin triangles side by side, from corner to corner of their box."""
        dice = random.Random(1)
        lines = []
        for _ in range(count):
            x, y, z = (dice.uniform(-1, 1) for _ in range(3))
            lines += [f"v {x + d} {y + d} {z + d + e}" for d, e in ((0, 0), (50, 0), (50, 0.01))]
        return "\n".join([*lines, *(f"f {k + 1} {k + 2} {k + 3}"
                                    for k in range(0, 3 * count, 3))]) + "\n"

    def test_sticks_are_told(self):
        with folder() as directory:
            scene = directory / "sticks.obj"
            scene.write_text(self.sticks(300))
            text = self.built(scene)
            self.assertIn(f"{self.FACT}: a ray through the scene's bounds takes 300 triangle tests "
                          "on average, and there are 300 triangles.", text)
            self.assertIn(self.ADVICE, text)
            text = self.said("trace", scene, "--rays", 1024, "--repeat", 1)
            self.assertIn(self.FACT, text)
            text = self.said("build", scene, "--memory", "1GiB", "--out", directory / "t.kdt")
            self.assertIn(self.FACT, text)
            # The option is not advised to a user who has taken it, and it helps.
            self.assertNotIn(self.ADVICE, self.built(scene, self.ADVICE.split()[0], 12))
            costs = [report(scene, "--bad-splits", splits)["results"][0]["tree"]["sah_1_1_5"]
                     for splits in (0, 12)]
            self.assertLess(costs[1], costs[0])

    def test_other_trees_are_not_told(self):
        for scene in (MODELS / "cottage.obj", "gen:sphere:300", "gen:hair:3000",
                      "gen:coincident:64"):
            self.assertNotIn(self.FACT, self.built(scene))
        self.assertIn(self.FACT, self.built("gen:coincident:65"))
        self.assertIn(self.FACT, self.built("gen:sphere:300", "--depth-base", 0, "--depth-factor",
                                            0, "--bad-splits", 12))


if __name__ == "__main__":
    unittest.main()
