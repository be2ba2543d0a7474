"""`heapwood inspect`: its JSON, its tables, boxes, and mistakes."""

import csv
import io
import shutil
import struct
import unittest

from command_line import (
    BAD_INPUT, DONE, MODELS, USAGE, VERIFICATION, build, folder, report, run,
)
from schemas import document

SCENE = "gen:city:2000"


def inspect(*arguments, **options):
    return run("inspect", "--device", "cpu", *arguments, **options)


def inspected(*arguments):
    return document(inspect(*arguments, "--json", "-"), "inspect")


def digest(words):
    """FNV-1a over words, as in tree files."""
    value = 0xCBF29CE484222325
    for word in words:
        value = (value ^ word) * 0x100000001B3 & (1 << 64) - 1
    return value


def move_plane(path, ulps):
    """Moves the root's plane by so many steps of its float, so that a triangle that begins or ends there
    is missing on one side; and lets digest and checksum fit."""
    data = bytearray(path.read_bytes())
    nodes, references = struct.unpack_from("<QQ", data, 48)
    plane, = struct.unpack_from("<I", data, 192)
    struct.pack_into("<I", data, 192, plane + ulps)
    words = struct.unpack(f"<{len(data) // 4}I", data)
    begin = (192 + 8 * nodes + 63) // 64 * 16
    tree = (nodes, *words[48:48 + 2 * nodes], *words[begin:begin + references])
    struct.pack_into("<Q", data, 32, digest(tree))
    words = struct.unpack(f"<{len(data) // 4}I", data)
    struct.pack_into("<Q", data, 24, digest(words[:6] + words[8:]))
    path.write_bytes(data)


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

    def test_a_tree_file_is_known_by_its_contents(self):
        with folder() as place:
            tree, scene = place / "tree", place / "scene.kdt"
            self.assertEqual(build(SCENE, "--repeat", 1, "--out", tree).returncode, DONE)
            shutil.copy(MODELS / "gem.obj", scene)
            self.assertEqual(inspected(tree)["tree"], inspected(SCENE)["tree"])
            self.assertEqual(inspected(scene)["tree"], inspected(MODELS / "gem.obj")["tree"])
            tree.rename(place / "T.OBJ")
            self.assertEqual(inspected(place / "T.OBJ", "--verify")["tree"],
                             inspected(SCENE)["tree"])
            for verb in ("build", "compare"):
                result = run(verb, place / "T.OBJ", "--device", "cpu")
                self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
                self.assertIn("T.OBJ: is a tree file, which 'heapwood inspect'", result.stderr)

    def test_a_tree_file_is_verified(self):
        """Of a sound tree, and of one in which a leaf lacks a triangle."""
        with folder() as place:
            tree, picture = place / "a.kdt", place / "a.png"
            self.assertEqual(build("gen:soup:300", "--repeat", 1, "--out", tree).returncode, DONE)
            calls = (("inspect", tree), ("trace", tree, "--rays", 1000, "--repeat", 1),
                     ("render", tree, "-o", picture, "--size", "32x32"))
            for call in calls:
                result = run(*call, "--verify", "--device", "cpu")
                self.assertEqual(result.returncode, DONE, result.stderr)
            picture.unlink()
            wrong = 0
            for ulps in (8, -16):  # to the one side of where it was, and to the other
                move_plane(tree, ulps)
                self.assertEqual(run(*calls[0]).returncode, DONE, "sound for a walk")
                for call in calls:
                    result = run(*call, "--verify", "--device", "cpu")
                    if result.returncode != DONE:
                        self.assertEqual(result.returncode, VERIFICATION, result.stderr)
                        self.assertIn("a.kdt: the tree is wrong: ", result.stderr)
                        wrong += 1
            self.assertGreaterEqual(wrong, len(calls))

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
