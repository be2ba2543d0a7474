"""`heapwood bench`: every test for every allocator, its forms of output, mistakes and mishaps."""

import copy
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from command_line import (
    BAD_INPUT, DONE, EXECUTABLE, INTERNAL, INTERRUPTED, OUT_OF_MEMORY, USAGE, allocators,
    environment, folder, run,
)
from schemas import violations

KIND = "bench"
TESTS = ["ad", "acd", "p", "xmalloc", "alloc", "mixed", "scaling", "fragmentation", "oom", "work", "access",
         "init", "graph-init", "graph-update", "churn", "registers"]
FAKES = os.environ.get("HEAPWOOD_TEST_BENCH_FAKES", "heapwood_bench_fakes")
# Long enough for the slowest allocator under a sanitizer.
PATIENT = ("--time-limit", 60)


def bench(*arguments, **options):
    """`heapwood bench` with small counts on the CPU."""
    return run("bench", "--device", "cpu", "--quick", *arguments, **options)


def report(*arguments, code=DONE):
    """The JSON of a run that must end with `code`."""
    result = bench(*arguments, "--json", "-")
    if result.returncode != code:
        raise AssertionError(f"exit code {result.returncode}, not {code}: {result.stderr}")
    return json.loads(result.stdout)


def median(samples):
    ordered = sorted(samples)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


class Everything(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = allocators()
        listed = json.loads(run("list", "--json", "-").stdout)["allocators"]
        cls.smallest = {entry["name"]: entry["smallest_pool_bytes"] for entry in listed}
        cls.full = [entry["name"] for entry in listed if entry["full"]]
        with folder() as place:
            cls.csv = bench("all", "--csv", "--json", place / "all.json", *PATIENT)
            assert cls.csv.returncode == DONE, cls.csv.stderr
            cls.report = json.loads((place / "all.json").read_text())
        cls.series = {series["id"]: series for series in cls.report["series"]}

    def test_conforms(self):
        self.assertEqual(violations(self.report, KIND), [])

    def test_the_check_can_fail(self):
        for change in (
            lambda r: r.update(schema=2),
            lambda r: r.pop("cells"),
            lambda r: r.update(more=1),
            lambda r: r["cells"][0].update(outcome="fine"),
            lambda r: r["cells"][0]["counts"].update(corrupt=1),
            lambda r: r["cells"][0]["metrics"].update(ms=3),
            lambda r: r["cells"][0]["metrics"]["ms"]["warm"].update(samples=[]),
            lambda r: r["series"][0].update(test="other"),
            lambda r: r["provenance"].update(date="today"),
        ):
            wrong = copy.deepcopy(self.report)
            change(wrong)
            self.assertNotEqual(violations(wrong, KIND), [])

    def test_all_tests_and_allocators_are_there(self):
        seen = list(dict.fromkeys(series["test"] for series in self.report["series"]))
        self.assertEqual(seen, TESTS)
        found = [entry["name"] for entry in self.report["allocators"]]
        self.assertEqual(found, self.names + ["prefix-sum"])
        for name in self.series:
            here = {cell["allocator"] for cell in self.report["cells"] if cell["series"] == name}
            test = self.series[name]["test"]
            expected = set(self.names)
            if test in ("churn", "graph-update"):
                expected &= set(self.full)
            if test in ("work", "access", "fragmentation", "graph-init"):
                expected.add("prefix-sum")
            self.assertEqual(here, expected, name)

    def too_small(self, cell):
        """Whether the series gives the allocator a smaller pool than it needs."""
        needs = self.smallest.get(cell["allocator"], 0)
        return cell["series"] == "acd.pool" and cell["x"] < needs

    def test_the_papers_smallest_pool_is_too_small_for_one_allocator(self):
        self.assertEqual({cell["allocator"] for cell in self.report["cells"]
                          if self.too_small(cell)}, {"cudamalloc"})

    def test_cells(self):
        for cell in self.report["cells"]:
            series = self.series[cell["series"]]
            where = f"{cell['series']} {cell['allocator']} {cell['x']}"
            if series["test"] == "registers":
                # Known to a program that has been built for GPUs, wherever it runs.
                self.assertIn(cell["outcome"], ("done", "skipped"))
                continue
            if self.too_small(cell):
                self.assertEqual((cell["outcome"], cell["metrics"]), ("out_of_pool", {}), where)
                self.assertIn("that this allocator needs", cell["message"])
                continue
            self.assertEqual(cell["outcome"], "done", f"{where}: {cell['message']}")
            self.assertEqual(cell["x"] is None, series["x"] is None, where)
            self.assertLessEqual(set(cell["metrics"]), {m["name"] for m in series["metrics"]})
            for name, phases in cell["metrics"].items():
                timed = next(m["timed"] for m in series["metrics"] if m["name"] == name)
                self.assertEqual("value" in phases, not timed)
                for spread in phases.values():
                    if spread is None:
                        continue
                    samples = spread["samples"]
                    self.assertEqual(spread["min"], min(samples))
                    self.assertEqual(spread["max"], max(samples))
                    self.assertAlmostEqual(spread["median"], median(samples))

    def test_counts(self):
        """What was asked for follows from the parameters."""
        for cell in self.report["cells"]:
            test = self.series[cell["series"]]["test"]
            if test in ("init", "registers") or cell["allocator"] == "prefix-sum":
                continue
            if self.too_small(cell):
                self.assertIsNone(cell["counts"])
                continue
            counts, given = cell["counts"], cell["parameters"]
            if test == "p":
                self.assertGreater(counts["requests"], 0)
            elif test == "churn":
                # Some of a live set's requests may be refused; all blocks are freed in the end.
                self.assertEqual(counts["requests"] - counts["failed"], counts["frees"])
                self.assertEqual(counts["requests"] % given["callers"], 0)
                continue
            elif test == "graph-update":
                # An insertion and a deletion exchange an array of a vertex each at the most.
                self.assertLessEqual(counts["requests"], 2 * min(cell["x"], given["edges"]))
            elif test == "oom":
                room = given["pool_bytes"] // given["min_bytes"]
                self.assertLessEqual(counts["frees"], room)
                self.assertEqual(counts["requests"] - counts["failed"], counts["frees"])
                self.assertGreaterEqual(counts["failed"], given["callers"])
                values = cell["metrics"]["utilisation_all"]["value"]["samples"]
                self.assertAlmostEqual(
                    values[-1], counts["frees"] * given["min_bytes"] / given["pool_bytes"], 3)
                continue
            else:
                # Fragmentation by AD: a block that is freed at once, then one that stays.
                times = 2 if cell["series"] == "ad.fragmentation" else 1
                self.assertEqual(counts["requests"], times * given["callers"] * given["requests"])
            self.assertEqual(counts["frees"], counts["requests"], cell["series"])
            self.assertEqual(counts["failed"], 0)

    def test_fragmentation_is_at_least_what_was_asked_for(self):
        for cell in self.report["cells"]:
            if cell["series"] != "fragmentation":
                continue
            packed = cell["parameters"]["callers"] * cell["parameters"]["min_bytes"]
            first = cell["metrics"]["range_first"]["value"]["median"]
            self.assertGreaterEqual(first, packed)
            if cell["allocator"] in ("atomicmalloc", "prefix-sum"):
                self.assertEqual(first, packed)

    def test_csv_has_the_same_figures(self):
        rows = list(csv.DictReader(io.StringIO(self.csv.stdout)))
        found = {
            (r["series"], r["allocator"], r["x"] and float(r["x"]), r["metric"], r["phase"]):
                (float(r["median"]), float(r["min"]), float(r["max"]), int(r["samples"]))
            for r in rows if r["metric"]
        }
        expected = {}
        for cell in self.report["cells"]:
            for name, phases in cell["metrics"].items():
                for phase, s in phases.items():
                    if s is not None:
                        x = "" if cell["x"] is None else cell["x"]
                        expected[cell["series"], cell["allocator"], x, name, phase] = (
                            s["median"], s["min"], s["max"], len(s["samples"]))
        self.assertEqual(found, expected)
        empty = sum(not cell["metrics"] for cell in self.report["cells"])
        self.assertEqual(len(rows), len(found) + empty)


class Output(unittest.TestCase):
    def test_tables_have_the_medians_of_the_json(self):
        with folder() as place:
            result = bench("scaling", "-a", "cmalloc,buddy", "--repeat", 2, "--iterations", 3,
                           "--markdown", "--json", place / "x.json", *PATIENT)
            found = json.loads((place / "x.json").read_text())
        self.assertEqual(result.returncode, DONE, result.stderr)
        tables = {}
        for block in result.stdout.split("### ")[1:]:
            lines = [[c.strip() for c in line.split("|")[1:-1]]
                     for line in block.splitlines() if line.startswith("|")]
            tables[block.splitlines()[0]] = {line[0]: line[1:] for line in lines[2:]}
        for metric, title in (("alloc_ms", "allocation"), ("free_ms", "deallocation")):
            for phase, samples in (("cold", 2), ("warm", 6)):
                table = next(rows for name, rows in tables.items() if f": {title}, {phase}" in name)
                for name in ("cmalloc", "buddy"):
                    cells = [c for c in found["cells"] if c["allocator"] == name]
                    self.assertEqual(len(cells), 2)
                    for cell, shown in zip(cells, table[name]):
                        spread = cell["metrics"][metric][phase]
                        self.assertEqual(len(spread["samples"]), samples)
                        self.assertAlmostEqual(float(shown), spread["median"], delta=max(
                            1e-6, spread["median"] / 100))

    def test_published_figures(self):
        # Its sizes are not those of --quick: nothing of it fits but by name.
        found = report("alloc", "--published", "-a", "cmalloc")
        self.assertEqual(found["published"], [])
        self.assertEqual(violations(found, KIND), [])
        result = run("bench", "mixed", "--device", "cpu", "-a", "atomicmalloc", "--published",
                     "--largest", "16B", "--repeat", 1, "--iterations", 1)
        self.assertEqual(result.returncode, DONE, result.stderr)
        row = next(l for l in result.stdout.splitlines() if l.startswith("TITAN V: CUDA"))
        self.assertEqual(row.split()[3:], ["24.9", "24.7", "24.8", "–"])

    def test_a_test_named_twice_runs_once(self):
        found = report("init", "init", "-a", "cmalloc")
        self.assertEqual([series["id"] for series in found["series"]], ["init"])

    def test_larger_requests(self):
        found = report("alloc", "-a", "cmalloc", "--largest", "64KiB", "--pool", "32MiB")
        self.assertEqual(found["provenance"]["largest_bytes"], 65536)
        sizes = [cell["x"] for cell in found["cells"] if cell["series"] == "alloc.thread.96"]
        self.assertGreater(max(sizes), 128)


class Mistakes(unittest.TestCase):
    def check(self, words, *arguments, code=USAGE):
        with self.subTest(arguments=arguments):
            result = bench(*arguments)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertRegex(result.stderr, r"^heapwood: error: ")
            for word in words:
                self.assertIn(word, result.stderr)
            if code == USAGE:
                self.assertEqual(result.stdout, "")

    def test_tests(self):
        self.check(["TEST is required"])
        self.check(["no test 'aloc'", "scaling", "did you mean 'alloc'?"], "aloc")
        self.check(["no allocator 'cmaloc'", "did you mean 'cmalloc'?"], "ad", "-a", "cmaloc")

    def test_sizes(self):
        for size in ("0B", "8B", "2GiB", "20x", "-1B", "many"):
            self.check([f"'{size}' is not a size from 16 B to 1.0 GiB"],
                       "alloc", f"--largest={size}")
        self.check(["--pool: 1 required SIZE missing"], "alloc", "--pool")
        self.check(["'0B' is not a size"], "alloc", "--pool", "0B")
        self.check(["'20x' is not a size"], "alloc", "--pool", "20x")
        self.check(["a pool of 512 B is too small for any point of alloc", "larger --pool"],
                   "alloc", "--pool", "512B")

    def test_live_sets(self):
        self.check(["full allocators, and none of these is one"], "churn", "-a", "atomicmalloc")
        self.check(["--sizes is for the test churn", "ad, acd"], "ad", "acd", "--sizes",
                   "no-such-file")
        self.check(["no-such-file"], "churn", "--sizes", "no-such-file", code=BAD_INPUT)
        self.check([f"{__file__}:1:"], "churn", "--sizes", __file__, code=BAD_INPUT)
        self.check(["--sizes: sizes are read from a file"], "churn", "--sizes", "-")
        self.check(["too small for any point of churn"], "churn", "--pool", "4KiB")

    def test_numbers(self):
        for option in ("--repeat", "--iterations"):
            self.check([f"{option}: '0' is not a whole number from 1"], "ad", option, 0)
        self.check(["--time-limit: '0' is not a number above 0"], "ad", "--time-limit", 0)
        self.check(["'x' is none of", "uniform"], "ad", "--presplit", "x")
        self.check(["excludes"], "ad", "--json", "-", "--csv")
        result = run("bench", "ad", "--device", "soon")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("'soon' is none of auto, cpu, cuda, gpu", result.stderr)

    def test_a_pool_that_nothing_fits_into(self):
        # Fits into half of the pool by its bytes, but every block is four times as large as asked.
        found = report("mixed", "-a", "atomicmalloc", "--pool", "4KiB")
        self.assertEqual({cell["outcome"] for cell in found["cells"]}, {"done"})
        result = bench("init", "-a", "cmalloc", "--pool", "1KiB", "--json", "-")
        self.assertEqual(result.returncode, OUT_OF_MEMORY)
        cell = json.loads(result.stdout)["cells"][0]
        self.assertEqual(cell["outcome"], "out_of_pool")
        self.assertEqual(cell["message"],
                         "a pool of 1.0 KiB is below the 4.0 KiB that this allocator needs")


def children(process):
    """The process ids of a running process's children."""
    text = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in text.split()]


class Faults(unittest.TestCase):
    """What allocators that go wrong cost: their own cells, and no more."""

    def faulty(self, *arguments, code, limit=60):
        result = subprocess.run(
            [FAKES, "bench", "alloc", "oom", "--quick", "--device", "cpu", "--threads", "1",
             "--time-limit", str(limit), "--json", "-", *arguments],
            capture_output=True, text=True, env=environment(), timeout=120, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        found = json.loads(result.stdout)
        self.assertEqual(violations(found, KIND), [])
        for cell in found["cells"]:
            if cell["allocator"] == "good" and limit >= 60:
                self.assertEqual(cell["outcome"], "done", cell["message"])
            self.assertEqual(bool(cell["metrics"]), cell["outcome"] == "done")
        return result.stderr, {
            (cell["allocator"], cell["series"], cell["x"]): (cell["outcome"], cell["message"])
            for cell in found["cells"]
        }

    def test_memory_handed_out_twice_is_an_error_and_no_figure(self):
        errors, cells = self.faulty("-a", "good,revolves", code=5)
        # There is room for every block but when the pool is to be filled.
        self.assertEqual(cells["revolves", "alloc.thread.96", 16][0], "done")
        outcome, message = cells["revolves", "oom", 256]
        self.assertEqual(outcome, "corrupt")
        self.assertIn("overwritten while they were in use", message)
        self.assertIn("oom, revolves: blocks were overwritten", errors)

    def test_a_live_set_whose_blocks_overlap_is_no_figure(self):
        # Cells have 64 bytes, and come again before they are free.
        errors, cells = self.faulty("churn", "--largest", "64B", "-a", "good,revolves", code=5)
        found = {series: outcome for (name, series, _), (outcome, _) in cells.items()
                 if name == "revolves" and series.startswith("churn")}
        self.assertEqual(set(found), {"churn.live", "churn.aged.30", "churn.aged.60"})
        self.assertIn("corrupt", found.values())
        self.assertIn("churn.live, revolves: blocks were overwritten", errors)

    def test_a_hang_costs_the_rest_of_its_test(self):
        # As long as a busy machine may take for a turn of no work.
        _, cells = self.faulty("-a", "hangs,good", code=DONE, limit=2)
        self.assertEqual(cells["hangs", "alloc.thread.96", 16][0], "done")
        self.assertEqual(cells["hangs", "alloc.thread.96", 128], ("hang", "no end within the limit of 2 s"))
        self.assertEqual(cells["hangs", "alloc.warp.96", 16],
                         ("skipped", "after a hang in this test"))
        self.assertEqual(cells["hangs", "oom", 1024][0], "hang", "the next test begins anew")
        errors, cells = self.faulty("-a", "good", code=DONE, limit=1e-6)
        if "done" not in {outcome for outcome, _ in cells.values()}:  # a fast turn may have ended
            self.assertIn("nothing was measured: no turn ended within the time limit of 1e-06 s", errors)
        self.assertNotIn("e-07 s", str(cells))

    def test_a_crash_costs_a_cell(self):
        errors, cells = self.faulty("-a", "dies,good", code=INTERNAL)
        self.assertEqual(cells["dies", "alloc.thread.96", 128],
                         ("crashed", "its process was killed by signal 9 (Killed)"))
        self.assertEqual(cells["dies", "alloc.warp.96", 16][0], "done")
        self.assertIn("alloc.thread.96, dies: its process was killed", errors)

    def test_an_error_is_told(self):
        _, cells = self.faulty("-a", "fails,good", code=INTERNAL)
        self.assertEqual(cells["fails", "alloc.thread.96", 16],
                         ("failed", "an illegal memory access"))


class Interrupts(unittest.TestCase):

    def start(self, place, *arguments):
        process = subprocess.Popen(
            [EXECUTABLE, "bench", "ad", "--device", "cpu", "--quick", "--repeat", "1000000",
             "--json", str(place / "x.json"), *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())
        while process.poll() is None and len(children(process)) < 2:
            time.sleep(0.01)
        return process

    def end(self, place, process, code):
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, errors)
        found = json.loads((place / "x.json").read_text())
        self.assertEqual(violations(found, KIND), [])
        outcomes = {"cmalloc": set(), "buddy": set()}
        for cell in found["cells"]:
            outcomes[cell["allocator"]].add(cell["outcome"])
        return outcomes, errors

    def test_ctrl_c_keeps_what_there_is(self):
        with folder() as place:
            process = self.start(place, "-a", "cmalloc,buddy", "--time-limit", "60")
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            outcomes, errors = self.end(place, process, INTERRUPTED)
        self.assertIn("done", outcomes["cmalloc"])
        self.assertIn("interrupted", errors)


if __name__ == "__main__":
    unittest.main()
