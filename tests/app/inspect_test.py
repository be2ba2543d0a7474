"""`heapwood inspect`: its JSON, its tables, boxes, and mistakes."""

import csv
import io
import unittest

import schema_check
from command_line import BAD_INPUT, DONE, MODELS, USAGE, build, folder, report, run

SCENE = "gen:city:2000"


def inspect(*arguments, **options):
    return run("inspect", "--device", "cpu", *arguments, **options)


def inspected(*arguments):
    return schema_check.document(inspect(*arguments, "--json", "-"), "inspect")


class Inspect(unittest.TestCase):
    def test_figures_are_those_of_build(self):
        for scene in (SCENE, MODELS / "gem.obj"):
            found = inspected(scene)
            tree = report(scene)["results"][0]["tree"]
            for key in ("digest", "nodes", "leaves", "empty_leaves", "references"):
                self.assertEqual(found["tree"][key], tree[key], key)
            levels = found["levels"]
            self.assertEqual([level["depth"] for level in levels], list(range(len(levels))))
            self.assertEqual(found["tree"]["depth"], len(levels) - 1)
            self.assertEqual(sum(level["references"] for level in levels), tree["references"])
            cost = sum(level["traversal_cost"] + level["intersection_cost"] for level in levels)
            self.assertAlmostEqual(cost, found["tree"]["cost"])
            self.assertEqual(sum(bucket["count"] for bucket in found["duplications"]),
                             found["scene"]["triangles"])

    def test_a_tree_file_is_the_tree(self):
        with folder() as place:
            tree = place / "a.kdt"
            self.assertEqual(build(SCENE, "--repeat", 1, "--out", tree).returncode, DONE)
            from_file, from_scene = inspected(tree), inspected(SCENE)
            for key in ("tree", "levels", "leaf_sizes", "duplications", "costly_leaves"):
                self.assertEqual(from_file[key], from_scene[key], key)

    def test_lists_are_as_long_as_asked_for(self):
        found = inspected(SCENE, "--longest", 3)
        self.assertEqual(len(found["costly_leaves"]), 3)
        self.assertEqual(len(found["spread_triangles"]), 3)

    def test_boxes(self):
        with folder() as place:
            file = place / "boxes.ply"
            self.assertEqual(inspect(SCENE, "--boxes", file, "--depth", 2).returncode, DONE)
            header = file.read_bytes().split(b"end_header\n")[0].decode()
            self.assertIn("element vertex 56\n", header)  # seven nodes down to depth 2
            self.assertIn("element face 42\n", header)

    def test_formats(self):
        text = inspect(SCENE).stdout
        for words in ("By depth", "Leaves by references", "Triangles by leaves that they are in",
                      "Leaves that cost the most", "SAH(1, 1.5)"):
            self.assertIn(words, text)
        rows = list(csv.DictReader(io.StringIO(inspect(SCENE, "--csv").stdout)))
        self.assertEqual(rows[0]["inner_nodes"], "1")
        with folder() as place:
            page = place / "a.html"
            self.assertEqual(inspect(SCENE, "--html", page).returncode, DONE)
            self.assertIn("Part of the cost", page.read_text())

    def test_mistakes(self):
        for options in (["--depth", 25], ["--depth", "x"], ["--longest", 0], ["--boxes", "-"],
                        ["--repeat", 2], ["--boxes", "/none/a.ply"]):
            result = inspect(SCENE, *options)
            self.assertEqual(result.returncode, USAGE, options)
        self.assertEqual(inspect().returncode, USAGE)
        self.assertEqual(inspect("missing.kdt").returncode, BAD_INPUT)
        with folder() as place:
            file = place / "bad.kdt"
            file.write_bytes(b"no tree")
            self.assertEqual(inspect(file).returncode, BAD_INPUT)


if __name__ == "__main__":
    unittest.main()
