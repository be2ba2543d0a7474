"""One tree, bit for bit: for every allocator, number of threads and run."""

import json
import unittest

from command_line import MODELS, allocators, report, run


def digests(*arguments):
    """The digests of one report."""
    return [result["tree"]["digest"] for result in report(*arguments)["results"]]


class Digest(unittest.TestCase):
    def check(self, scene, *arguments):
        with self.subTest(scene=str(scene)):
            found = {}
            for threads in (1, 2, 8):
                for name, digest in zip(allocators(), digests(
                        scene, "--allocator", "all", "--threads", threads, "--repeat", 1,
                        "--warm-up", 0, "--no-statistics", "--verify", *arguments)):
                    found[name, threads] = digest
            self.assertEqual(len(set(found.values())), 1, found)
            return found.popitem()[1]

    def test_models(self):
        scenes = sorted(MODELS.glob("*.obj"))
        self.assertGreaterEqual(len(scenes), 4)
        trees = [self.check(scene) for scene in scenes]
        self.assertEqual(len(set(trees)), len(trees), "different scenes, different trees")

    def test_generators(self):
        for generator in json.loads(run("list", "--json", "-").stdout)["generators"]:
            self.check(f"gen:{generator['name']}:2000")

    def test_ten_runs(self):
        scene = "gen:stadium:2000"
        runs = {digests(scene, "--threads", 8, "--repeat", 1)[0] for _ in range(10)}
        self.assertEqual(len(runs), 1)

    def test_how_the_work_is_divided_does_not_matter(self):
        scene = "gen:terrain:3000"
        plain = self.check(scene)
        self.assertEqual(plain, self.check(scene, "--large-limit", 64, "--chunk", 32))
        self.assertEqual(plain, self.check(scene, "--large-limit", 1000000))
        self.assertEqual(plain, self.check(scene, "--max-nodes", 200000))

    def test_parameters_do_matter(self):
        scene = "gen:soup:1000"
        trees = [digests(scene, *options)[0] for options in (
            [], ["--no-clip"], ["--leaf-limit", 3], ["--leaf-area", 3], ["--intersection-cost", 20],
            ["--empty-bonus", 1], ["--empty-rule", "whole"], ["--empty-rule", "tests"],
            ["--depth-base", 2], ["--bad-split-ratio", 0.8], ["--bad-splits", 1],
            ["--bad-splits-per-level", 0.1], ["--bad-splits", 1, "--hopeless-ratio", 1.01],
            ["--exact-limit", 8], ["--planes", 32], ["--no-tight-cuts"], ["--snap-limit", 0],
            ["--preset", "paper"], ["--preset", "pbrt"])]
        self.assertEqual(len(set(trees)), len(trees), trees)


if __name__ == "__main__":
    unittest.main()
