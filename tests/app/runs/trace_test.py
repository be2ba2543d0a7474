"""`heapwood trace`: its JSON, its tables, and mistakes."""

import csv
import io
import unittest

from command_line import (
    BAD_INPUT, DONE, MODELS, NO_DEVICE, OUT_OF_MEMORY, USAGE, folder, report, run,
)
from schemas import document

SCENE = "gen:city:500"
KINDS = ["random", "primary", "bounce", "shadow", "ambient-occlusion", "random", "uniform",
         "near-surface"]
ASKED = ["closest", "closest", "closest", "any", "any", "all", "nearest", "nearest"]


def trace(*arguments, **options):
    return run("trace", "--device", "cpu", "--rays", 1000, "--repeat", 2, *arguments, **options)


def traced(*arguments, code=DONE):
    return document(trace(*arguments, "--json", "-"), "trace", code)


def hits(tree):
    return [rays["hits"] for rays in tree["rays"]]


def ours(found):
    return [tree for tree in found["results"] if tree["preset"] is not None]


class Trace(unittest.TestCase):
    def test_every_kind_of_ray_in_every_scene(self):
        for scene in (SCENE, *sorted(MODELS.glob("*.obj"))):
            found = traced(scene)
            self.assertEqual(found["rays"], 1024)
            [tree] = ours(found)
            self.assertEqual([rays["kind"] for rays in tree["rays"]], KINDS)
            self.assertEqual([rays["asked"] for rays in tree["rays"]], ASKED)
            for rays in tree["rays"]:
                self.assertEqual(rays["rays"], 1024)
                self.assertEqual(len(rays["ms"]["samples"]), 2)
                self.assertAlmostEqual(rays["rays_per_second"] * rays["ms"]["median"] / 1024e3, 1)
            self.assertGreater(hits(tree)[1], 0)
            self.assertIsNone(tree["pays"])
            for other in found["results"]:
                self.assertEqual(len(other["build_ms"]["samples"]), 2 if other is tree else 1)

    def test_scenes_of_every_size_have_the_same_hits(self):
        lines = [line.split() for line in (MODELS / "gem.obj").read_text().splitlines()]
        found = {}
        with folder() as place:
            for power in (0, 100, 115, -100, -120):
                scene = place / "scene.obj"
                scene.write_text("\n".join(
                    " ".join(["v", *(repr(float(x) * 2.0 ** power) for x in words[1:4])]
                             if words[0] == "v" else words)
                    for words in lines if words and words[0] in ("v", "f")) + "\n")
                found[power] = hits(ours(traced(scene))[0])
        for power, those in found.items():
            for one, other in zip(those, found[0]):
                self.assertAlmostEqual(one, other, delta=1 + other / 100, msg=(power, found))

    def test_scenes_that_no_ray_meets_say_so(self):
        with folder() as place:
            scene = place / "scene.obj"
            for vertices in (("7 7 7",) * 3, ("0 0 0",) * 3, ("1e9 0 0",) * 3, ("1e-45 0 0",) * 3,
                             ("0 0 0", "1 2 3", "2 4 6"), ("3e37 0 0", "0 0 0", "1 0 0")):
                scene.write_text("".join(f"v {v}\n" for v in vertices) + "f 1 2 3\n")
                for result in (trace(scene), run("render", scene, "-o", place / "x.png", "--device",
                                                 "cpu", "--size", "32x32")):
                    self.assertEqual(result.returncode, DONE, (vertices, result.stderr))
                    self.assertIn("all triangles have zero area, and no ray meets them",
                                  result.stderr)
                found = hits(ours(traced(scene))[0])
                self.assertEqual(set(found[:6]), {0}, vertices)
                self.assertEqual(found[6:], [1024, 1024], vertices)  # of points, an edge is as good

    def test_no_ray_depends_on_the_name_of_a_file(self):
        """The published scenes are known by what is in them."""
        with folder() as place:
            text = (MODELS / "gem.obj").read_bytes()
            found = []
            for name in ("gem", "bunny", "sponza", "conference", "cornell_original"):
                path = place / f"{name}.obj"
                path.write_bytes(text)
                found.append(traced(path))
            for other in found:
                self.assertEqual(other["camera"], found[0]["camera"])
                self.assertEqual([(rays["kind"], rays["digest"]) for rays in ours(other)[0]["rays"]],
                                 [(rays["kind"], rays["digest"]) for rays in ours(found[0])[0]["rays"]])

    def test_every_camera_sees_the_scene(self):
        scenes = {
            "edge": "v 0 0 0\nv -3 4 10\nv 0 1 0\nv -3 5 10\nf 1 2 3\nf 2 4 3\n",
            "far apart": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1e6 1e6 1e6\nv 1e6 1000001 1e6\n"
                         "v 1000002 1e6 1e6\nf 1 2 3\nf 4 5 6\n",
            "needle": "v 0 0 0\nv 0 1000 0\nv 0.01 0 0.01\nf 1 2 3\n",
            "dust": "v 1 1 1\nv 1.000001 1 1\nv 1 1.000001 1\nf 1 2 3\n",
            "giant": "v -2e38 0 0\nv 2e38 0 0\nv 0 2e38 0\nf 1 2 3\n",
        }
        with folder() as place:
            for name, text in scenes.items():
                with self.subTest(name):
                    path = place / "scene.obj"
                    path.write_text(text, encoding="utf-8")
                    [tree] = ours(traced(path))
                    self.assertEqual([rays["kind"] for rays in tree["rays"]], KINDS)
                    if name != "giant":  # whose rays overflow
                        self.assertGreater(hits(tree)[1], 0)

    def test_rays_that_see_nothing_say_so(self):
        with folder() as place:
            path = place / "scene.obj"
            path.write_text("v 7 7 7\nv 7 7 7\nv 7 7 7\nf 1 2 3\n", encoding="utf-8")
            [tree] = ours(traced(path))
            self.assertEqual([rays["kind"] for rays in tree["rays"]], KINDS)
            self.assertEqual([rays["rays"] for rays in tree["rays"]], [1024, 1024, 0, 0, 0, 1024, 1024, 1024])
            for rays in tree["rays"][:2]:
                self.assertIn("0 of 1,024 hit a triangle", rays["note"])
            for rays in tree["rays"][2:5]:
                self.assertIn("begin where primary rays hit", rays["note"])
                self.assertIsNone(rays["rays_per_second"])
            text = " ".join(trace(path).stdout.split())
            self.assertIn("primary rays: 0 of 1,024 hit a triangle: the rate is of rays that hit",
                          text)
            self.assertIn("shadow (any) rays: none: they begin where primary rays hit", text)
            rows = list(csv.DictReader(io.StringIO(trace(path, "--csv").stdout)))
            self.assertIn("0 of 1,024", rows[1]["note"])
            self.assertEqual(rows[2]["rays"], "0")

    def test_the_tree_is_that_of_build(self):
        [tree] = ours(traced(SCENE))
        self.assertEqual(tree["digest"], report(SCENE)["results"][0]["tree"]["digest"])

    def test_other_trees_beside_it_have_the_same_hits(self):
        found = ours(traced(SCENE, "--beside", "paper,pbrt", "--allocator", "halloc,cmalloc",
                            "--method", "single,levels"))
        self.assertEqual([(tree["tree"], tree["preset"]) for tree in found],
                         [(name, preset) for preset in ("default", "paper", "pbrt")
                          for name in ("halloc", "cmalloc", "levels")])
        self.assertEqual(len({tree["digest"] for tree in found}), 3)
        for tree in found:
            self.assertEqual(hits(tree), hits(found[0]))

    def test_one_seed_makes_the_same_rays(self):
        counts = [hits(ours(traced(SCENE, "--seed", seed, "--threads", threads))[0])
                  for seed, threads in ((1, 1), (1, 3), (2, 1))]
        self.assertEqual(counts[0], counts[1])
        self.assertNotEqual(counts[0], counts[2])

    def test_answers_have_a_digest(self):
        def digests(*options):
            return [rays["digest"] for rays in ours(traced(SCENE, *options))[0]["rays"]]

        self.assertEqual(len(set(digests())), 8)
        self.assertEqual(digests("--threads", 1), digests("--threads", 3))
        first, second = digests("--seed", 1), digests("--seed", 2)
        self.assertEqual([a == b for a, b in zip(first, second)],
                         [kind in ("primary", "shadow") for kind in KINDS])

    def test_frames_are_traced_by_one_builder(self):
        with folder() as place:
            scene = place / "f1.obj"
            scene.write_bytes((MODELS / "gem.obj").read_bytes())
            [alone] = ours(traced(scene, "--frames", place / "f%d.obj"))
            primary = alone["rays"][1]
            animated = alone["animated"]
            # One frame is the scene itself.
            self.assertEqual([animated[name] for name in ("frames", "rays", "hits", "digest")],
                             [1, primary["rays"], primary["hits"], primary["digest"]])
            for number in (2, 3):
                (place / f"f{number}.obj").write_bytes(scene.read_bytes())
            [same] = ours(traced(scene, "--frames", place / "f%d.obj"))
            self.assertEqual(same["animated"]["hits"], 3 * primary["hits"])
        found = ours(traced(SCENE, "--frames", 5, "-a", "atomicmalloc,hybrid"))
        frames = [tree["animated"] for tree in found]
        self.assertEqual(frames[0]["digest"], frames[1]["digest"])
        self.assertEqual(frames[0]["frames"], 5)
        self.assertEqual(len(frames[0]["frame_ms"]["samples"]), 10)
        for built, traced_ms in zip(frames[0]["rebuild_ms"]["samples"],
                                    frames[0]["frame_ms"]["samples"]):
            self.assertLessEqual(built, traced_ms)
        self.assertIn("frames a second", trace(SCENE, "--frames", 2).stdout)
        self.assertIsNone(ours(traced(SCENE))[0]["animated"])

    def test_mistakes_with_frames(self):
        with folder() as place:
            tree = place / "a.kdt"
            self.assertEqual(run("build", "--device", "cpu", SCENE, "--out", tree).returncode, DONE)
            for arguments, code, words in (
                    ((SCENE, "--frames", 0), USAGE, "number of frames"),
                    ((SCENE, "--frames", place / "f%d.obj"), BAD_INPUT, "f0.obj"),
                    ((SCENE, "--frames", 2, "--method", "levels"), USAGE, "levels"),
                    ((tree, "--frames", 2), USAGE, "tree file"),
                    ((SCENE, "--frames", 2, "--pool", "1KiB"), OUT_OF_MEMORY, "pool")):
                result = trace(*arguments)
                self.assertEqual(result.returncode, code, (arguments, result.stderr))
                self.assertIn(words, result.stderr)

    def test_gpus_that_are_not_there(self):
        for arguments, code, words in (
                (("--devices", "0", "--device", "cpu"), USAGE, "--device is cpu"),
                (("--devices", "0,x"), USAGE, "'x'"),
                (("--devices=-1",), USAGE, "'-1'"),
                (("--devices", "0,1"), NO_DEVICE, "no GPU to build on: ")):
            result = run("trace", SCENE, *arguments, env={"CUDA_VISIBLE_DEVICES": ""})
            self.assertEqual(result.returncode, code, arguments)
            self.assertIn(words, result.stderr)

    def test_the_fast_test_finds_almost_the_same(self):
        exact, fast = (hits(ours(traced(SCENE, *options))[0]) for options in ([], ["--fast"]))
        for a, b in zip(exact, fast):
            self.assertLess(abs(a - b), 10)

    def test_other_formats(self):
        text = trace(SCENE, "--beside", "pbrt").stdout
        for words in ("Millions of rays a second", "shadow (any)", "near-surface (nearest)",
                      "cambium, pbrt", "N = 10 M"):
            self.assertIn(words, text)
        rows = list(csv.DictReader(io.StringIO(trace(SCENE, "--csv").stdout)))
        self.assertEqual([row["kind"] for row in rows[:8]], KINDS)
        self.assertEqual(float(rows[0]["rays"]), 1024)
        self.assertIn("| tree |", trace(SCENE, "--markdown").stdout)

    def test_a_build_that_fails_has_no_rays(self):
        [tree] = traced(SCENE, "--max-nodes", 100, code=OUT_OF_MEMORY)["results"]
        self.assertEqual(tree["outcome"], "nodes_exhausted")
        self.assertEqual((tree["rays"], tree["layout_ms"], tree["ms_per_ray"]), ([], None, None))
        self.assertIn("holds 100 nodes", tree["message"])

    def test_mistakes(self):
        for options in (["--rays", 0], ["--rays", -1], ["--rays", "many"], ["--beside", "cheap"],
                        ["--seed", "x"], ["--minimal-pool"], ["--statistics"], ["--width", 32]):
            result = run("trace", SCENE, "--device", "cpu", *options)
            self.assertEqual(result.returncode, USAGE, options)
            self.assertIn(str(options[-1]), result.stderr)
        self.assertEqual(trace().returncode, USAGE)
        self.assertEqual(trace("missing.obj").returncode, BAD_INPUT)


if __name__ == "__main__":
    unittest.main()
