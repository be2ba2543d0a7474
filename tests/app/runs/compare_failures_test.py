"""Allocators that go wrong cost their cell of a comparison, and nothing else."""

import re
import unittest

from compare_test import KIND
from command_line import DONE, FAKES, INTERNAL, OUT_OF_MEMORY, VERIFICATION, compare, compared
from schemas import violations

SMALL, LARGE = "gen:soup:20", "gen:soup:300"


def cells(*arguments, **options):
    """The cells by scene and allocator, schema-checked."""
    found = compared(*arguments, "--repeat", 2, executable=FAKES, **options)
    assert violations(found, KIND) == []
    return {(cell["scene"], cell["build"]["allocator"]): cell for cell in found["cells"]}


class Failures(unittest.TestCase):
    def check(self, names, outcome, message, code, *arguments):
        """That these fail so, and the good one beside them does not."""
        found = cells(LARGE, "-a", f"atomicmalloc,{names},good", *arguments, code=code)
        for name in names.split(","):
            cell = found[LARGE, name]
            self.assertEqual(cell["outcome"], outcome, cell)
            self.assertRegex(cell["message"], message)
            self.assertFalse(cell["fastest_full"])
            self.assertIsNone(cell["build"]["slowdown"])
        for name in ("atomicmalloc", "good"):
            self.assertEqual(found[LARGE, name]["outcome"], "done")
        self.assertTrue(found[LARGE, "good"]["fastest_full"])

    def test_crashes(self):
        self.check("dies", "crashed",
                   r"^its process was killed by signal 9 \(Killed\) \(turn 1 of 2\)$", INTERNAL)
        self.check("exits", "crashed", "its process ended with exit code 3", INTERNAL)

    def test_nonsense(self):
        self.check("babbles", "crashed", "answered nonsense: certainly!", INTERNAL)
        self.check("evades", "crashed", "answered nonsense: {", INTERNAL)
        self.check("floods", "crashed", "answered without an end", INTERNAL)

    def test_hang(self):
        self.check("hangs", "hang", r"no end within the limit of 2 s \(turn 2 of 2\)", INTERNAL,
                   "--time-limit", 2)

    def test_wrong_trees(self):
        self.check("cuts", "wrong_tree", "but atomicmalloc's is ", VERIFICATION)
        self.check("wavers", "wrong_tree", "differs from run to run", VERIFICATION)
        self.check("cuts", "verification_failed", "the tree is wrong: ", VERIFICATION, "--verify")

    def test_pools(self):
        self.check("overwrites", "overwritten", r"it would have \(turn 1 of 2\)", OUT_OF_MEMORY)
        self.check("exhausts", "pool_exhausted", "no room", OUT_OF_MEMORY)
        self.check("leaks", "verification_failed", "16 B of the pool were still allocated",
                   VERIFICATION)

    def test_errors(self):
        self.check("fails", "failed", r"an illegal memory access \(build 1\)", INTERNAL)

    def test_the_worst_has_the_exit_code(self):
        for names, code in (("good,exhausts", OUT_OF_MEMORY), ("exhausts,dies", INTERNAL),
                            ("dies,leaks,exhausts", VERIFICATION)):
            cells(LARGE, "-a", names, code=code)

    def test_the_next_cell_has_a_new_process(self):
        found = cells(LARGE, SMALL, "-a", "good,dies,hangs", "--time-limit", 2, code=INTERNAL)
        self.assertEqual([found[LARGE, name]["outcome"] for name in ("good", "dies", "hangs")],
                         ["done", "crashed", "hang"])
        for name in ("good", "dies", "hangs"):
            self.assertEqual(found[SMALL, name]["outcome"], "done", found[SMALL, name])

    def test_after_an_error_as_well(self):
        found = cells(LARGE, SMALL, "-a", "fails", code=INTERNAL)
        for scene in (LARGE, SMALL):
            self.assertIn("(build 1)", found[scene, "fails"]["message"])

    def test_tables_say_so(self):
        result = compare(LARGE, "-a", "atomicmalloc,good,dies,hangs,cuts,overwrites,exhausts",
                         "--repeat", 2, "--time-limit", 2, executable=FAKES)
        self.assertEqual(result.returncode, VERIFICATION)
        rows = dict(re.findall(r"^(\w+)\*? +(.*)$",
                               result.stdout.split("slowdown of the others")[1].split("\n\n")[0],
                               re.M))
        self.assertEqual(rows.pop("atomicmalloc"), "1.500 ms", "of 1 and 2")
        self.assertRegex(rows.pop("good"), r"^\[\d+\.\d{2}x\]$")
        rows.pop("allocator")
        self.assertEqual(rows, {"dies": "crashed", "hangs": "hang", "cuts": "wrong tree",
                                "overwrites": "overwritten", "exhausts": "out of pool"})
        self.assertIn("error: 5 of 7 cells failed; gen:soup:300, pool default, cuts: ",
                      result.stderr)


class Turns(unittest.TestCase):
    def test_one_process_takes_all_turns_of_an_allocator(self):
        found = compared(SMALL, LARGE, "-a", "atomicmalloc", "--repeat", 3, "--warm-up", 0,
                         "--no-statistics", "--pool", "200x,100x", executable=FAKES)
        # Its times count the builds of its process.
        samples = [cell["build"]["ms"]["samples"] for cell in found["cells"]]
        self.assertEqual(samples, [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]])
        self.assertEqual(found["cells"][3]["build"]["ms"]["median"], 11)


class MinimalPool(unittest.TestCase):
    def test_bisection(self):
        cell = cells(LARGE, "-a", "needs", "--pool", "4MiB", "--minimal-pool")[LARGE, "needs"]
        self.assertGreaterEqual(cell["build"]["minimal_pool_bytes"], 1 << 20)
        self.assertLessEqual(cell["build"]["minimal_pool_bytes"], 1.02 * (1 << 20))
        self.assertEqual(cell["build"]["pool_bytes"], 4 << 20)

    def test_a_crash_meanwhile_costs_no_more_than_the_smallest_pool(self):
        result = compare(LARGE, "-a", "hungers", "--pool", "4MiB", "--minimal-pool", "--repeat", 1,
                         executable=FAKES)
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertIn("warning: gen:soup:300, hungers: no smallest pool was found: its process was "
                      "killed by signal 9", result.stderr)
        self.assertRegex(result.stdout, r"Minimal pool\nallocator +gen:soup:300\nhungers +–\n")


if __name__ == "__main__":
    unittest.main()
