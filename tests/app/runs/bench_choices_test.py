"""`heapwood bench --bytes` and `--callers`: sizes and callers of a user's choice."""

import unittest

from bench_test import bench, report
from command_line import USAGE


class Choices(unittest.TestCase):
    def refused(self, words, *arguments):
        with self.subTest(arguments=arguments):
            result = bench(*arguments)
            self.assertEqual(result.returncode, USAGE, result.stderr)
            self.assertEqual(result.stdout, "")
            for word in words:
                self.assertIn(word, result.stderr)

    def test_every_series_has_them_in_order(self):
        found = report("alloc", "mixed", "acd", "-a", "cmalloc", "--bytes", "4KiB,20,64", "--callers", "50,8")
        xs = {}
        for cell in found["cells"]:
            self.assertEqual(cell["outcome"], "done", cell)
            xs.setdefault(cell["series"], []).append(cell["x"])
        for series in ("alloc.thread.8", "alloc.thread.50", "alloc.warp.8", "alloc.warp.50", "mixed.8",
                       "mixed.50", "acd.payload"):
            self.assertEqual(xs[series], [20, 64, 4096], series)

    def test_what_no_test_takes_is_refused(self):
        for size in ("0B", "2B", "2GiB", "20x"):
            self.refused([f"'{size}' is not a size from 4 B to 1.0 GiB"], "alloc", "--bytes", f"16,{size}")
        self.refused(["'18' is no multiple of 4 bytes"], "alloc", "--bytes", "16,18")
        self.refused(["--callers", "'0' is not a whole number from 1"], "alloc", "--callers", 0)
        self.refused(["--bytes is for the tests ad, acd", "not among init, churn"], "init", "churn", "--bytes", 16)
        self.refused(["--callers is for the tests alloc, mixed", "not among acd"], "acd", "--callers", 16)


if __name__ == "__main__":
    unittest.main()
