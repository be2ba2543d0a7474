"""Pools that grow while a build runs."""

import unittest

from command_line import DONE, OUT_OF_MEMORY, USAGE, build, report
from schemas import violations

SCENE = "gen:soup:4000:3"
GROWING = "cambium,atomicmalloc,hybrid"


class Growth(unittest.TestCase):
    def test_small_pools_grow_to_the_trees_of_large_ones(self):
        wanted = report(SCENE, "--repeat", 1)["results"][0]
        self.assertIsNone(wanted["build"]["pool_growths"])
        found = report(SCENE, "--pool", "2x", "--grow", "-a", GROWING, "--repeat", 2, "--verify")
        self.assertEqual(violations(found, "build"), [])
        self.assertEqual(len(found["results"]), 3)
        for result in found["results"]:
            one = result["build"]
            self.assertEqual(result["tree"]["digest"], wanted["tree"]["digest"])
            self.assertGreater(one["pool_growths"], 0)
            self.assertLessEqual(one["pool_bytes"] - one["pool_grown_bytes"], 2 * 32 * 4000)
            self.assertEqual(result["memory"]["pool_bytes"], one["pool_bytes"])
            self.assertIsNotNone(result["allocations"])

    def test_tables_tell_of_growth_where_a_pool_can_grow(self):
        text = build(SCENE, "--pool", "2x", "--grow", "--repeat", 1).stdout
        self.assertIn("growths  grown by", text)
        self.assertNotIn("growths", build(SCENE, "--repeat", 1).stdout)
        details = build(SCENE, "--pool", "2x", "--grow", "--repeat", 1, "--details").stdout
        self.assertGreaterEqual(details.count("grown by"), 1)

    def test_frames_keep_what_their_pool_has_grown_by(self):
        frames = [report(SCENE, "--frames", 3, "--repeat", 1, "--no-statistics", *growth)["results"][0]["frames"]
                  for growth in ((), ("--pool", "2x", "--grow"))]
        self.assertEqual(frames[0]["digests"], frames[1]["digests"])

    def test_a_limit_is_kept_and_told(self):
        result = build(SCENE, "--pool", "1.2x", "--grow-to", "1.7x")
        self.assertEqual(result.returncode, OUT_OF_MEMORY)
        self.assertIn("the pool may have 217600 bytes", result.stderr)
        self.assertIn("choose a larger --grow-to", result.stderr)
        self.assertEqual(build(SCENE, "--pool", "1.2x", "--grow-to", "50x").returncode, DONE)
        self.assertEqual(build(SCENE, "--pool", "1.2x").returncode, OUT_OF_MEMORY)

    def refused(self, *arguments, words):
        result = build(SCENE, *arguments)
        self.assertEqual(result.returncode, USAGE, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_what_cannot_be_is_refused(self):
        self.refused("--grow", "-a", "halloc", words=["no pool of halloc grows", "choose one of", "hybrid",
                                                      "HEAPWOOD_GROWING"])
        self.refused("--grow-to", "2x", "--pool", "2x", words=["cannot grow to 2x"])
        self.refused("--grow-to", "2y", words=["--grow-to", "is no pool size"])
        self.refused("--grow", "--minimal-pool", words=["leave out --grow"])


if __name__ == "__main__":
    unittest.main()
