"""The level method: the same trees, without an allocator."""

import csv
import io
import resource
import unittest

from command_line import DONE, MODELS, OUT_OF_MEMORY, USAGE, build, report, run

SCENE = "gen:city:2000"


class Method(unittest.TestCase):
    def test_both_methods_build_the_same_trees(self):
        for scene in (*sorted(MODELS.glob("*.obj")), "gen:hair:3000", "gen:soup:1"):
            for threads in (1, 3):
                found = report(scene, "--method", "single,levels", "--allocator",
                               "atomicmalloc,cmalloc", "--threads", threads, "--repeat", 1,
                               "--no-statistics", "--verify")["results"]
                self.assertEqual([result["build"]["method"] for result in found],
                                 ["single", "single", "levels"])
                self.assertEqual([result["build"]["allocator"] for result in found],
                                 ["atomicmalloc", "cmalloc", "levels"])
                self.assertEqual(len({result["tree"]["digest"] for result in found}), 1)
                for result in found:
                    self.assertTrue(result["tree"]["verified"])

    def test_what_is_said_of_levels(self):
        found = report(SCENE, "--method", "levels", "--repeat", 3)
        self.assertEqual(found["provenance"]["host_pool"], "on")
        [result] = found["results"]
        self.assertEqual(len(result["build"]["ms"]["samples"]), 3)
        self.assertIsNone(result["allocations"])
        self.assertIsNone(result["build"]["arrays"])
        self.assertGreater(result["build"]["pool_bytes"], 48 * 2000)
        text = build(SCENE, "--method", "levels").stdout
        self.assertIn("\nlevels ", text)
        self.assertNotIn("N_alloc", text)
        self.assertIn("N_alloc", build(SCENE, "--method", "levels,single").stdout)
        [row] = csv.DictReader(io.StringIO(build(SCENE, "--method", "levels", "--csv").stdout))
        self.assertEqual((row["method"], row["arrays"], row["requests"]), ("levels", "", ""))

    def test_the_host_pool_changes_no_tree(self):
        trees = set()
        for method in ("single", "levels"):
            for pool in ("on", "off"):
                found = report(SCENE, "--method", method, "--host-pool", pool)
                self.assertEqual(found["provenance"]["host_pool"], pool)
                trees.add(found["results"][0]["tree"]["digest"])
        self.assertEqual(len(trees), 1)

    def test_options_for_allocators_have_no_effect_and_that_is_said(self):
        for options in (["--allocator", "cmalloc"], ["--pool", "20x"], ["--minimal-pool"],
                        ["--presplit", "none"], ["--page", "8192"], ["--fallback", "pool"],
                        ["--superblocks", "off"]):
            result = build(SCENE, "--method", "levels", *options)
            self.assertEqual(result.returncode, DONE)
            self.assertIn("no effect of " + options[0], result.stderr)
            result = build(SCENE, "--method", "single,levels", *options)
            self.assertNotIn("the method levels has no allocator", result.stderr)

    def test_an_option_that_no_chosen_allocator_has_is_warned_of(self):
        result = build(SCENE, "--allocator", "cfmmalloc,xmalloc", "--presplit", "none",
                       "--superblocks", "off")
        self.assertEqual(result.returncode, DONE)
        self.assertIn("--presplit has no effect: it is for cmalloc, cfmalloc, cdmalloc",
                      result.stderr)
        self.assertNotIn("--superblocks has no effect", result.stderr)

    def test_too_few_nodes(self):
        [result] = report(SCENE, "--method", "levels", "--max-nodes", 100,
                          code=OUT_OF_MEMORY)["results"]
        self.assertEqual(result["outcome"], "nodes_exhausted")
        self.assertIn("holds 100 nodes", result["message"])

    def test_memory_that_cannot_be_had_is_named(self):
        if "+" in run("--version").stdout:
            self.skipTest("sanitizers need more memory than is allowed here")
        for words, scene, most, options in (
            ("the nodes: allocating 8000000000 bytes", SCENE, 4 << 30,
             ["--max-nodes", 1000000000]),
            ("the leaves' references: allocating 16000000000 bytes", SCENE, 4 << 30,
             ["--max-references", 4000000000]),
            ("the allocator's pool of 8589934592 bytes: allocating 8589934592 bytes", SCENE,
             4 << 30, ["--pool", "8GiB", "--allocator", "atomicmalloc"]),
            (" bytes of host memory failed", "gen:soup:1000000", 384 << 20, ["--method", "levels"]),
        ):
            result = build(scene, "--threads", 1, "--repeat", 1, "--warm-up", 0, "--no-statistics",
                           *options, preexec_fn=lambda: resource.setrlimit(
                               resource.RLIMIT_AS, (most, most)))
            self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
            self.assertIn(words, result.stderr)

    def test_mistakes(self):
        for option, value in (("--method", "kernel"), ("--host-pool", "maybe")):
            result = run("build", SCENE, option, value)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn(f"'{value}'", result.stderr)


if __name__ == "__main__":
    unittest.main()
