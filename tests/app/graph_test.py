"""`heapwood bench graph-init` and `graph-update`: mistakes and mishaps; see bench_test.py, too."""

import unittest

import bench_test
from bench_test import PATIENT, report


class Graphs(unittest.TestCase):
    check = bench_test.Mistakes.check
    faulty = bench_test.Faults.faulty

    def test_mistakes(self):
        self.check(["graph-update is for full allocators, and none of these is one"],
                   "graph-update", "-a", "atomicmalloc")
        self.check(["graph-update, churn are for full allocators"],
                   "churn", "graph-update", "-a", "atomicmalloc")
        self.check(["no test 'graph'"], "graph")
        self.check(["too small for any point of graph-init, graph-update", "larger --pool"],
                   "graph-init", "graph-update", "--pool", "256B")

    def test_arrays_that_overlap_are_no_figure(self):
        # Cells have 64 bytes; an array of a hub has more.
        errors, cells = self.faulty("graph-init", "graph-update", "-a", "good,revolves", code=5)
        for test in ("graph-init", "graph-update"):
            found = [outcome for (name, series, _), (outcome, _) in cells.items()
                     if name == "revolves" and series == f"{test}.rmat"]
            self.assertIn("corrupt", found)
            self.assertIn(f"{test}.rmat, revolves: blocks were overwritten", errors)

    def test_a_seed_makes_a_graph(self):
        def live(*seed):
            found = report("graph-init", "-a", "cmalloc", *seed, *PATIENT)
            return [cell["metrics"]["live"]["value"]["median"] for cell in found["cells"]
                    if cell["allocator"] == "cmalloc"]
        self.assertEqual(live(), live("--seed", 1))
        self.assertNotEqual(live(), live("--seed", 2))


if __name__ == "__main__":
    unittest.main()
