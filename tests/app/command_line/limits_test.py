"""Scenes and pools at the limits: a tree that is right, or a sentence."""

import json
import math
import time
import unittest

from command_line import DONE, OUT_OF_MEMORY, build, dice, folder, thorough

COUNT = 1_000_000 if thorough() else 1000
CORNERS = 100_000 if thorough() else 1000
SHORT = ("pool_exhausted", "out_of_memory", "overwritten")


def triangles(corners):
    """An OBJ of separate triangles, three corners each."""
    yield from (f"v {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in corners)
    yield from (f"f {3 * i + 1} {3 * i + 2} {3 * i + 3}\n" for i in range(len(corners) // 3))


class Scenes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dice = dice()

    def points(self, count, scale=1.0):
        return [tuple(scale * self.dice.uniform(-1, 1) for _ in range(3)) for _ in range(count)]

    def around(self, size, move=lambda point: point):
        """COUNT triangles of that size, anywhere."""
        return [move(tuple(c + size * self.dice.uniform(-1, 1) for c in centre))
                for centre in self.points(COUNT) for _ in range(3)]

    def check(self, lines, count=COUNT, threads=8):
        """Builds it twice, by one thread and by more, with other allocators."""
        with folder() as place:
            path = place / "scene.obj"
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(lines)
            found = []
            for builders in (("-a", "cmalloc", "--threads", 1),
                             ("-a", "halloc,cmmalloc", "--threads", threads)):
                start = time.monotonic()
                result = build(path, *builders, "--repeat", 1, "--warm-up", 0, "--no-statistics",
                               "--verify", "--json", "-")
                self.assertEqual(result.returncode, DONE, result.stderr)
                report = json.loads(result.stdout)
                self.assertEqual(report["scene"]["triangles"], count)
                found += [entry["tree"] for entry in report["results"]]
                print(f"{self.id().split('_', 1)[1]}: {count} triangles, {found[-1]['nodes']} "
                      f"nodes, {time.monotonic() - start:.1f} s with the reading", flush=True)
            self.assertEqual(len({tree["digest"] for tree in found}), 1)
            self.assertTrue(all(tree["verified"] for tree in found))

    def test_coincident(self):
        self.check(["v 0 0 0\n", "v 1 0.5 0\n", "v 0 1 1\n"] + ["f 1 2 3\n"] * COUNT)

    def test_collinear(self):
        self.check(triangles([(t, 2 * t, -t) for t in
                              (self.dice.uniform(-1, 1) for _ in range(3 * COUNT))]))

    def test_coplanar(self):
        self.check(triangles(self.around(COUNT ** -0.5, lambda p: (p[0], 0.375, p[2]))))

    def test_coplanar_and_large(self):
        """Decals: every triangle overlaps most others."""
        self.check(triangles([(x, y, 0.25) for x, y, _ in self.points(3 * COUNT)]))

    def test_hair(self):
        """Long and thin, across one another."""
        self.check(triangles([corner for a in self.points(COUNT)
                              for b in self.points(1)
                              for corner in (a, b, tuple(c + 1e-6 for c in b))]))

    def test_points(self):
        self.check(triangles([a for a in self.points(COUNT) for _ in range(3)]))

    def test_tiny(self):
        self.check(triangles([tuple(1e-30 * c for c in p) for p in self.around(0.01)]))

    def test_huge(self):
        self.check(triangles([tuple(1e30 * c for c in p) for p in self.around(0.01)]))

    def test_all_scales_at_once(self):
        def spread(point):
            scale = 10 ** self.dice.uniform(-30, 30)
            return tuple(scale * c for c in point)
        self.check(triangles(self.around(0.01, spread)))

    def test_a_polygon_of_many_corners(self):
        turn = 2 * math.pi / CORNERS
        lines = [f"v {math.cos(i * turn):.9g} {math.sin(i * turn):.9g} 0\n" for i in range(CORNERS)]
        self.check([*lines, "f " + " ".join(str(i + 1) for i in range(CORNERS)) + "\n"],
                   CORNERS - 2)

    def test_one_triangle_and_more_threads_than_tasks(self):
        for text in ("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "v 0 0 0\nv 0 0 0\nv 0 0 0\n"):
            self.check([text, "f 1 2 3\n"], 1, threads=64)


class Pools(unittest.TestCase):
    def check(self, scene, pool, threads, *arguments):
        """All allocators, each with a tree that is right or with a sentence on memory.
        @return how many there were, and how many built the tree."""
        result = build(scene, "-a", "all", "--pool", pool, "--threads", threads, "--repeat", 1,
                       "--warm-up", 0, "--no-statistics", "--json", "-", *arguments)
        what = f"{scene}, {pool}, {threads} threads: {result.stderr}"
        self.assertIn(result.returncode, (DONE, OUT_OF_MEMORY), what)
        entries = json.loads(result.stdout)["results"]
        short = [entry for entry in entries if entry["outcome"] in SHORT]
        done = [entry for entry in entries if entry["outcome"] == "done"]
        self.assertEqual(len(short) + len(done), len(entries), what)
        self.assertEqual(result.returncode, OUT_OF_MEMORY if short else DONE, what)
        self.assertEqual(len({entry["tree"]["digest"] for entry in done}), 1 if done else 0)
        for entry in short:
            self.assertIn(entry["message"], result.stderr)
        return len(entries), len(done)

    def test_of_64_kib(self):
        for scene in ("gen:soup:1", "gen:soup:500", "gen:soup:2040", "gen:soup:20000"):
            for threads in (1, 32) if thorough() else (8,):
                self.check(scene, "64KiB", threads)

    def test_of_any_size(self):
        """A build meets the end of its pool anywhere between the root and its last node."""
        numbers = dice()
        builds = done = 0
        turns = 200 if thorough() else 3
        for turn in range(turns):
            # Each turn has a share of the sizes, so that some pools are too small and some are not.
            pool = f"{2 ** (-0.5 + 5.5 * (turn + numbers.random()) / turns):.3f}x"
            arrays = numbers.choice(("every", "large"))
            found = self.check(f"gen:{numbers.choice(('soup', 'city', 'sphere'))}:3000:{turn + 1}",
                               pool, numbers.choice((1, 2, 8, 32)), "--arrays", arrays)
            builds, done = builds + found[0], done + found[1]
        self.assertLess(0, done)
        self.assertLess(done, builds)
        print(f"{builds} builds, {done} done, the others out of pool")


if __name__ == "__main__":
    unittest.main()
