"""`heapwood bench churn`: the size of the live set, and sizes of a trace; see bench_test.py, too."""

import unittest

from bench_test import PATIENT, KIND, bench, report
from command_line import DONE, folder, run
from schemas import violations


class LiveSets(unittest.TestCase):
    def test_a_live_set_stays(self):
        """Of an allocator that refuses nothing; others are in their figures what they are."""
        found = report("churn", "-a", "cudamalloc", *PATIENT)
        for cell in found["cells"]:
            wanted = cell["parameters"]["live_percent"]
            live = cell["metrics"]["live"]["value"]["median"]
            self.assertAlmostEqual(live, wanted, delta=wanted / 5)
            self.assertEqual(cell["metrics"]["refused"]["value"]["median"], 0)
        self.assertEqual({cell["parameters"]["live_percent"] for cell in found["cells"]}, {30, 60})

    def test_sizes_of_a_trace(self):
        with folder() as place:
            trace = place / "x.trace"
            made = run("build", "gen:soup:200", "--device", "cpu", "-a", "cmalloc",
                       "--trace", trace)
            self.assertEqual(made.returncode, DONE, made.stderr)
            asked = [int(line.split(",")[2]) for line in trace.read_text().splitlines()
                     if line.startswith("a,")]
            arguments = ("churn", "-a", "cudamalloc", "--sizes", trace, "--seed", 7, *PATIENT)
            found = report(*arguments)
        self.assertEqual(violations(found, KIND), [])
        sizes = found["provenance"]["sizes"]
        self.assertEqual((sizes["requests"], sizes["min_bytes"], sizes["max_bytes"]),
                         (len(asked), min(asked), max(asked)))
        for one in found["cells"]:
            self.assertEqual(one["outcome"], "done", one["message"])
            self.assertEqual(one["parameters"]["max_bytes"], max(asked))
            # As many blocks as make the share with the trace's mean size.
            mean = sum(asked) / len(asked)
            slots = one["parameters"]["live_percent"] / 100 * one["parameters"]["pool_bytes"] / mean
            rounds = one["parameters"]["rounds"] + (1 if "aged" in one["series"] else 4)
            self.assertAlmostEqual(one["counts"]["requests"] / rounds / slots, 1, delta=0.1)


if __name__ == "__main__":
    unittest.main()
