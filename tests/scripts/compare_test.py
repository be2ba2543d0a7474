"""Tests of scripts/compare.py on results made up for them."""

import json
import pathlib
import tempfile
import unittest

from support import needs

needs("numpy", "pandas", "rich", "typer")

import sample_results  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import compare  # noqa: E402


def times(result, allocator, samples, scene=0):
    """Puts these samples in the place of a cell's of a compare result with one pool."""
    path = result["scenes"][scene]["path"]
    for cell in result["cells"]:
        if cell["scene"] == path and cell["build"]["allocator"] == allocator:
            if samples is None:
                cell["outcome"], cell["build"]["ms"] = "hang", None
            else:
                cell["build"]["ms"]["samples"] = list(samples)


def one_pool():
    """Two scenes, one pool, four allocators, all cells done."""
    return sample_results.compare(
        pools=("200x",), allocators=("atomicmalloc", "cmalloc", "hybrid", "buddy")
    )


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_script(self, first, second, *arguments):
        """(exit code, output) for two documents, or texts of files."""
        paths = []
        for name, document in (("a.json", first), ("b.json", second)):
            path = self.folder / name
            if document is not None:
                text = document if isinstance(document, str) else json.dumps(document)
                path.write_text(text, encoding="utf-8")
            paths.append(str(path))
        result = CliRunner().invoke(compare.APP, [*paths, *arguments])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    def verdicts(self, output):
        """The last column by allocator, of tables whose cells are those of one scene."""
        lines = [line.split() for line in output.splitlines()]
        return {line[2]: line[-1] for line in lines if len(line) >= 8 and line[1] == "200x"}

    def test_a_result_against_itself_is_undecided(self):
        for document in (one_pool(), sample_results.bench()):
            code, output = self.run_script(document, document)
            self.assertEqual(code, 0)
            self.assertIn(" 0 faster, 0 slower,", output)

    def test_faster_slower_and_undecided_from_the_samples(self):
        before, after = one_pool(), one_pool()
        times(before, "atomicmalloc", [1, 2, 3, 4, 5])
        times(after, "atomicmalloc", [1.5, 2.5, 3.5, 4.5, 5.5])
        times(before, "cmalloc", [1, 2, 3, 4, 5])
        times(after, "cmalloc", [6, 7, 8, 9, 10])
        times(before, "hybrid", [6, 7, 8, 9, 10])
        times(after, "hybrid", [1, 2, 3, 4, 5])
        code, output = self.run_script(before, after, "--all")
        self.assertEqual(code, 1)
        lines = [line.split() for line in output.splitlines() if "bunny" in line]
        self.assertEqual(
            {line[2]: tuple(line[3:]) for line in lines},
            {
                "atomicmalloc": ("3", "3.5", "ms", "1.167", "0.69", "undecided"),
                "cmalloc": ("3", "8", "ms", "2.667", "0.0079", "slower"),
                "hybrid": ("8", "3", "ms", "0.375", "0.0079", "faster"),
                "buddy": ("1.52", "1.52", "ms", "1.000", "1", "undecided"),
            },
        )
        self.assertIn("8 cells: 1 faster, 1 slower, 6 undecided.", output)
        self.assertIn("about 0.1 would be called", output)
        # Only the decided cells without --all.
        code, output = self.run_script(before, after)
        self.assertEqual(self.verdicts(output), {"cmalloc": "slower", "hybrid": "faster"})

    def test_only_faster_is_no_failure(self):
        after = one_pool()
        times(after, "cmalloc", [0.1, 0.2, 0.3, 0.4, 0.5])
        code, output = self.run_script(one_pool(), after)
        self.assertEqual(code, 0)
        self.assertIn("1 faster, 0 slower", output)

    def test_alpha_decides(self):
        after = one_pool()
        times(after, "buddy", [1.54, 1.56, 1.57, 1.58, 1.59])
        code, output = self.run_script(one_pool(), after)
        self.assertEqual((code, self.verdicts(output)), (0, {}))
        code, output = self.run_script(one_pool(), after, "--alpha", "0.05")
        self.assertEqual((code, self.verdicts(output)), (1, {"buddy": "slower"}))

    def test_too_few_samples_are_said(self):
        before, after = one_pool(), one_pool()
        times(before, "cmalloc", [1, 1, 1])
        times(after, "cmalloc", [9, 9, 9])
        code, output = self.run_script(before, after)
        self.assertEqual(code, 0)
        self.assertIn("Cells with too few samples to decide anything at that alpha: 1;", output)

    def test_what_is_no_longer_done_counts_as_worse(self):
        broken = one_pool()
        times(broken, "hybrid", None)
        code, output = self.run_script(one_pool(), broken)
        self.assertEqual(code, 1)
        self.assertIn("failed (done -> hang)", output)
        code, output = self.run_script(broken, one_pool())
        self.assertEqual(code, 0)
        self.assertIn("mended (hang -> done)", output)
        self.assertEqual(self.run_script(broken, broken)[0], 0)

    def test_bench_cells_by_series_metric_phase_and_size(self):
        after = sample_results.bench()
        for cell in after["cells"]:
            key = cell["series"], cell["allocator"], cell["x"]
            if key == ("alloc.thread.100000", "hybrid", 1024):
                cell["metrics"]["free_ms"]["warm"]["samples"] = [9.0] * 10
        code, output = self.run_script(sample_results.bench(), after)
        self.assertEqual(code, 1)
        line = [line for line in output.splitlines() if "hybrid" in line]
        self.assertEqual(len(line), 1)
        self.assertEqual(
            line[0].split()[:5], ["alloc.thread.100000", "free_ms", "warm", "1024", "hybrid"]
        )
        # Tables without an x are cells like others.
        code, output = self.run_script(
            sample_results.bench(), sample_results.bench(factor=2), "--all"
        )
        self.assertRegex(output, r"init +reset_ms +warm +– +hybrid .* slower")
        self.assertRegex(output, r"init +init_ms +value +– +hybrid .* slower")
        self.assertRegex(output, r"churn.live +alloc_p50 +value +30 +hybrid .* cycles .* slower")
        self.assertNotIn("utilisation", output)
        self.assertNotIn("refused", output)

    def test_replays_of_one_trace(self):
        first = sample_results.replay()
        code, output = self.run_script(first, sample_results.replay(factor=2), "--all")
        self.assertEqual(code, 1)
        self.assertRegex(output, r"replay +ms +warm +– +hybrid .* slower")
        self.assertEqual(self.run_script(first, first)[0], 0)
        other = sample_results.replay()
        other["trace"]["requests"] = 7
        code, output = self.run_script(first, other)
        self.assertEqual(code, 2)
        self.assertIn("are replays of different traces", output)

    def test_cells_of_one_side_and_other_devices_are_said(self):
        after = sample_results.compare(pools=("200x",), allocators=("atomicmalloc", "cmalloc"))
        after["provenance"]["device"] = "Another GPU"
        code, output = self.run_script(one_pool(), after)
        self.assertEqual(code, 0)
        self.assertIn("Cells in A only: 4.", output)
        self.assertIn("different device: Made-up GPU and Another GPU", output)
        self.assertEqual(output.count("warning"), 1)

    def test_what_cannot_be_compared(self):
        other = sample_results.compare(scenes=("other.obj",))
        old = {**one_pool(), "schema": 0}
        for first, second, message in (
            (None, one_pool(), "a.json: cannot be read"),
            ("{", one_pool(), "a.json:1: is not JSON"),
            ('{"schema": "\\ud800"}', one_pool(), "a.json: is not text"),
            (one_pool(), "[1]", "b.json: is no result of heapwood"),
            (one_pool(), old, "b.json: has schema 0"),
            (one_pool(), sample_results.bench(), "b.json of bench"),
            (one_pool(), other, "no cell in common"),
        ):
            with self.subTest(message=message):
                code, output = self.run_script(first, second)
                self.assertEqual(code, 2)
                self.assertIn(message, output)
        self.assertEqual(self.run_script(one_pool(), one_pool(), "--alpha", "2")[0], 2)


if __name__ == "__main__":
    unittest.main()
