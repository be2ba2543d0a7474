"""`heapwood build --trace` and `heapwood replay`: round trips, output, mistakes and mishaps."""

import copy
import csv
import io
import json
import lzma
import os
import subprocess
import unittest

from command_line import (
    BAD_INPUT, DONE, INTERNAL, OUT_OF_MEMORY, USAGE, VERIFICATION, allocators, build, environment,
    folder, run,
)
from schemas import violations

KIND = "replay"
FAKES = os.environ.get("HEAPWOOD_TEST_BENCH_FAKES", "heapwood_bench_fakes")
SCENE = "gen:city:500"
HEADER = {"kind": "trace", "schema": 1, "callers": 2, "requests": 2, "frees": 2, "root_bytes": 4096}
CALLS = ["a,0,64", "a,1,128", "f,0,1", "f,1,0"]


def replay(*arguments, **options):
    return run("replay", "--device", "cpu", *arguments, **options)


def record(place, threads, *arguments):
    """A trace of a build by that many threads, and the report on that build."""
    path = place / "x.trace"
    result = build(SCENE, "--threads", threads, "--repeat", 1, "--trace", path, "--json", "-", *arguments)
    assert result.returncode == DONE, result.stderr
    return path, json.loads(result.stdout)


def write(path, header=None, calls=None, columns="op,caller,value"):
    """A trace by hand."""
    text = header if isinstance(header, str) else json.dumps({**HEADER, **(header or {})})
    path.write_text("\n".join([text, columns, *(CALLS if calls is None else calls)]) + "\n")
    return path


def facts(calls):
    """Requests, frees, bytes and peak of a trace's calls, and that each makes sense."""
    sizes, live, bytes_, frees = [], {}, 0, 0
    peak = 0
    for call in calls:
        op, _, value = call.split(",")
        if op == "a":
            live[len(sizes)] = int(value)
            sizes.append(int(value))
        else:
            del live[int(value)]
            frees += 1
        peak = max(peak, sum(live.values()) if op == "a" else peak)
    return {"requests": len(sizes), "frees": frees, "bytes": sum(sizes), "peak_bytes": peak,
            "largest_bytes": max(sizes)}


class Traces(unittest.TestCase):
    """Of real builds."""

    @classmethod
    def setUpClass(cls):
        cls.names = allocators()
        with folder() as place:
            cls.path, cls.built = record(place, 2, "--allocator", "hybrid")
            cls.lines = cls.path.read_text().splitlines()
            packed = place / "x.trace.xz"
            packed.write_bytes(lzma.compress(cls.path.read_bytes()))
            cls.csv = replay(packed, "--threads", 2, "--repeat", 2, "--time-limit", 59.9, "--csv",
                             "--json", place / "x.json")
            assert cls.csv.returncode == DONE, cls.csv.stderr
            cls.report = json.loads((place / "x.json").read_text())

    def test_the_time_limit_is_told_as_it_was_given(self):
        self.assertEqual(self.report["provenance"]["time_limit_s"], 59.9)

    def test_the_file_has_what_the_build_asked_for(self):
        header = json.loads(self.lines[0])
        found = facts(self.lines[2:])
        counted = self.built["results"][0]["allocations"]
        self.assertEqual(found["requests"], counted["requests"])
        self.assertEqual(found["frees"], counted["frees"])
        self.assertAlmostEqual(found["bytes"] / found["requests"], counted["mean_bytes"], 6)
        for name in ("requests", "frees", "bytes", "peak_bytes"):
            self.assertEqual(header[name], found[name])
        # A second thread may come too late for any work.
        self.assertEqual(header["callers"],
                         1 + max(int(line.split(",")[1]) for line in self.lines[2:]))
        self.assertLessEqual(header["callers"], 2)
        self.assertEqual(header["allocator"], "hybrid")
        self.assertEqual(header["scene"]["path"], SCENE)
        self.assertEqual(header["root_bytes"], found["largest_bytes"])
        self.assertEqual(header["provenance"]["configuration"],
                         self.built["provenance"]["configuration"])
        self.assertEqual(self.lines[2], f"a,0,{header['root_bytes']}")

    def test_one_thread_has_the_peak_that_is_counted(self):
        with folder() as place:
            path, built = record(place, 1, "--allocator", "cmalloc")
            found = facts(path.read_text().splitlines()[2:])
            self.assertEqual(found["peak_bytes"],
                             built["results"][0]["allocations"]["peak_live_bytes"])

    def test_every_allocator_replays_it(self):
        self.assertEqual([r["allocator"] for r in self.report["results"]], self.names)
        found = facts(self.lines[2:])
        for result in self.report["results"]:
            name = result["allocator"]
            self.assertEqual(result["outcome"], "done", f"{name}: {result['message']}")
            frees = 0 if name in ("atomicmalloc", "fdgmalloc") else found["frees"]
            self.assertEqual(result["counts"], {"requests": found["requests"], "frees": frees,
                                                "failed": 0, "corrupt": 0}, name)
            self.assertEqual(len(result["ms"]["samples"]), 2)
            self.assertLessEqual(result["callers"], 2)
            self.assertAlmostEqual(
                result["calls_per_second"] * result["ms"]["median"] / 1000,
                found["requests"] + frees, 3)
            base = next(r for r in self.report["results"] if r["allocator"] == "atomicmalloc")
            self.assertAlmostEqual(result["slowdown"],
                                   result["ms"]["median"] / base["ms"]["median"])
            if name == "cudamalloc":
                self.assertIsNone(result["peak_allocated_bytes"])
                continue
            live = found["peak_bytes"]
            self.assertGreaterEqual(result["peak_allocated_bytes"], live, name)
            if name == "cmalloc":  # its waste is bounded, and what is freed is free
                self.assertLess(result["peak_allocated_bytes"], 3 * live)
        for name in ("requests", "frees", "bytes", "peak_bytes", "largest_bytes"):
            self.assertEqual(self.report["trace"][name], found[name])
        self.assertEqual(self.report["trace"]["header"], json.loads(self.lines[0]))

    def test_conforms(self):
        self.assertEqual(violations(self.report, KIND), [])
        for change in (
            lambda r: r.update(schema=2),
            lambda r: r.pop("trace"),
            lambda r: r["trace"].update(peak_bytes=0),
            lambda r: r["results"][0].update(outcome="fine"),
            lambda r: r["results"][0]["ms"].update(samples=[]),
            lambda r: r["results"][0].update(peak_external=2),
            lambda r: r["provenance"].update(date="today"),
        ):
            wrong = copy.deepcopy(self.report)
            change(wrong)
            self.assertNotEqual(violations(wrong, KIND), [])

    def test_csv_has_the_same_figures(self):
        rows = list(csv.DictReader(io.StringIO(self.csv.stdout)))
        self.assertEqual(len(rows), len(self.names))
        for row, result in zip(rows, self.report["results"]):
            self.assertEqual(row["allocator"], result["allocator"])
            self.assertEqual(float(row["ms"]), result["ms"]["median"])
            self.assertEqual(int(row["requests"]), result["counts"]["requests"])
            self.assertEqual(row["peak_allocated_bytes"] == "",
                             result["peak_allocated_bytes"] is None)


class ByHand(unittest.TestCase):
    def test_tables(self):
        with folder() as place:
            path = write(place / "x.trace")
            text = replay(path, "-a", "atomicmalloc,cmalloc", "--pool", "1MiB")
            self.assertEqual(text.returncode, DONE, text.stderr)
            self.assertIn("2 requests of 192 B in all, 2 frees", text.stdout)
            self.assertIn("192 B requested and not yet freed", text.stdout)
            row = next(l for l in text.stdout.splitlines() if l.startswith("atomicmalloc*"))
            self.assertEqual(row.split()[4], "1.00x")
            self.assertEqual(row.split()[-1], "done")
            marked = replay(path, "-a", "cmalloc", "--pool", "1MiB", "--markdown")
            self.assertIn("| cmalloc |", marked.stdout)

    def test_what_is_not_freed_stays(self):
        with folder() as place:
            path = write(place / "x.trace", {"frees": 0}, CALLS[:2])
            found = json.loads(replay(path, "-a", "atomicmalloc,cmalloc", "--pool", "1MiB",
                                      "--json", "-").stdout)
            for result in found["results"]:
                self.assertEqual(result["outcome"], "done", result["message"])
                self.assertEqual(result["counts"]["frees"], 0)

    def test_more_callers_than_threads_are_folded(self):
        with folder() as place:
            calls = [f"a,{c},64" for c in range(40)] + [f"f,{39 - c},{c}" for c in range(40)]
            path = write(place / "x.trace", {"callers": 40, "requests": 40, "frees": 40}, calls)
            for threads in (1, 3, 40):
                result = replay(path, "-a", "cmalloc", "--threads", threads, "--json", "-")
                found = json.loads(result.stdout)["results"][0]
                self.assertEqual(found["outcome"], "done", found["message"])
                self.assertEqual(found["callers"], threads)
                self.assertEqual(found["counts"]["frees"], 40)

    def test_a_pool_that_is_too_small(self):
        with folder() as place:
            calls = [f"a,0,{64 << 10}"] * 10 + [f"f,1,{i}" for i in range(10)]
            path = write(place / "x.trace", {"requests": 10, "frees": 10}, calls)
            result = replay(path, "-a", "cmalloc", "--pool", "256KiB", "--json", "-")
            self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
            found = json.loads(result.stdout)
            self.assertEqual(violations(found, KIND), [])
            found = found["results"][0]
            self.assertEqual(found["outcome"], "out_of_pool")
            self.assertIn("larger --pool", found["message"])
            self.assertGreaterEqual(found["counts"]["failed"], 6)
            self.assertLess(found["counts"]["failed"], 10)
            self.assertIsNone(found["ms"])


class Mistakes(unittest.TestCase):
    def refused(self, words, *arguments):
        with self.subTest(arguments=arguments):
            result = run(*arguments)
            self.assertEqual(result.returncode, USAGE, result.stderr)
            self.assertEqual(result.stdout, "")
            for word in words:
                self.assertIn(word, result.stderr)

    def test_usage(self):
        self.refused(["FILE is required"], "replay")
        self.refused(["no allocator 'cmaloc'", "did you mean"], "replay", "x", "-a", "cmaloc")
        self.refused(["--pool", "'20'"], "replay", "x", "--pool", "20")
        self.refused(["--repeat"], "replay", "x", "--repeat", "0")
        with folder() as place:
            trace = ("--device", "cpu", "--trace", place / "x.trace")
            self.refused(["--allocator names 2 allocators"], "build", SCENE, "-a", "cmalloc,hybrid", *trace)
            self.refused(["atomicmalloc is not full", "--allocator hybrid"], "build", SCENE, "-a", "atomicmalloc", *trace)
            self.refused(["awmalloc is not full"], "build", SCENE, "-a", "awmalloc", *trace)
            self.refused(["level method asks none", "--method single"], "build", SCENE, "-m", "levels", *trace)
            self.refused(["needs a file"], "build", SCENE, "--trace", "-")
            self.refused(["cannot write"], "build", "missing.obj", "--device", "cpu", "--trace",
                         place / "no" / "folder")
            self.assertEqual(list(place.iterdir()), [])

    def test_a_build_that_fails_leaves_no_trace(self):
        with folder() as place:
            result = build(SCENE, "--pool", "1x", "--trace", place / "x.trace")
            self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
            self.assertEqual(list(place.iterdir()), [])

    def bad(self, words, line, **parts):
        with folder() as place:
            path = write(place / "x.trace", **parts)
            with self.subTest(text=path.read_text()[-100:]):
                result = replay(path, "-a", "cmalloc")
                self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertTrue(result.stderr.startswith(f"heapwood: error: {path}:{line}: "),
                                result.stderr)
                for word in [*words, "heapwood build SCENE --trace FILE"]:
                    self.assertIn(word, result.stderr)

    def test_headers(self):
        self.bad(["not the header"], 1, header="v 0 0 0")
        self.bad(["not the header of a trace, nor of a log of RMM, Thread,Time,Action"], 1, header="[1]")
        self.bad(["not the header"], 1, header={"kind": "bench"})
        self.bad(["version 2", "reads version 1"], 1, header={"schema": 2})
        self.bad(["version null"], 1, header='{"kind":"trace"}')
        deep = "[" * 200_000 + "]" * 200_000
        self.bad(["not the header"], 1, header='{"kind":"trace","x":' + deep + "}")
        for name in ("callers", "requests", "frees", "root_bytes"):
            for wrong in (-1, "many", None, 1.5, 2**60):
                self.bad([f"'{name}'"], 1, header={name: wrong})
        self.bad(["'requests'"], 1, header={"requests": 0})
        self.bad(["op,caller,value"], 2, columns="a,0,64")

    def test_calls(self):
        def calls(*changed):
            return {"calls": list(changed)}

        for text in ("", "x,0,64", "a,0", "a,0,64,1", "a,0,64,", "a,-1,64", "a,0,6 4", "a,0,",
                     "a,,64", "f,0,99999999999999999999"):
            self.bad(["no call"], 3, **calls(text, *CALLS[1:]))
        self.bad(["caller 2 is out of range", "there are 2"], 4, **calls(CALLS[0], "a,2,64"))
        for size in (0, 3, 66, 2**32 + 2):
            self.bad([f"a request of {size} bytes", "multiples of 4"], 3, **calls(f"a,0,{size}"))
        self.bad(["all together have more bytes than"], 3, **calls(f"a,0,{2**56 + 4}"))
        self.bad(["all together have more bytes than"], 4, **calls(f"a,0,{2**56}", "a,0,4"))
        self.bad(["free of request 2", "only 2 stand before it"], 5, **calls(*CALLS[:2], "f,0,2"))
        self.bad(["free of request 0", "only 0 stand before it"], 3, **calls("f,0,0"))
        self.bad(["a second free of request 1", "line 5"], 6, **calls(*CALLS[:3], "f,1,1"))
        self.bad(["more requests than the 2"], 5, **calls(*CALLS[:2], "a,0,64"))

    def test_cut_off(self):
        for length in range(4):
            self.bad(["ends after", "2 and 2", "cut off"], 2 + length, calls=CALLS[:length])

    def test_files_that_cannot_be_read(self):
        with folder() as place:
            for path, word in ((place / "missing", "No such file"), (place, "directory")):
                result = replay(path)
                self.assertEqual(result.returncode, BAD_INPUT)
                self.assertIn(f"{path}: ", result.stderr)
                self.assertIn(word, result.stderr)
            whole = lzma.compress(write(place / "x.trace").read_bytes() * 100)
            cut = place / "cut.xz"
            cut.write_bytes(whole[:len(whole) // 2])
            self.assertEqual(replay(cut).returncode, BAD_INPUT)
            junk = place / "junk"
            junk.write_bytes(bytes(range(256)) * 10000)
            self.assertEqual(replay(junk).returncode, BAD_INPUT)


class Faults(unittest.TestCase):
    """What allocators that go wrong cost: their own row, and no more."""

    def faulty(self, calls, *arguments, code, limit=60):
        with folder() as place:
            requests = sum(call.startswith("a") for call in calls)
            path = write(place / "x.trace",
                         {"requests": requests, "frees": len(calls) - requests}, calls)
            result = subprocess.run(
                [FAKES, "replay", path, "--device", "cpu", "--threads", "1", "--pool", "64KiB",
                 "--time-limit", str(limit), "--json", "-", *arguments],
                capture_output=True, text=True, env=environment(), timeout=120, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        found = json.loads(result.stdout)
        self.assertEqual(violations(found, KIND), [])
        return result.stderr, {r["allocator"]: r for r in found["results"]}

    def test_memory_handed_out_twice_is_an_error_and_no_figure(self):
        # The pool has 1024 cells of 64 bytes: the last request gets the first one's.
        calls = ["a,0,64"] * 1025 + [f"f,0,{i}" for i in range(1025)]
        errors, found = self.faulty(calls, "-a", "good,revolves", code=VERIFICATION)
        self.assertEqual(found["revolves"]["outcome"], "corrupt")
        self.assertEqual(found["revolves"]["counts"]["corrupt"], 1)
        self.assertIsNone(found["revolves"]["ms"])
        self.assertIn("replay, revolves: blocks were overwritten", errors)
        # What nobody frees is checked all the same.
        _, found = self.faulty(calls[:1025], "-a", "revolves", code=VERIFICATION)
        self.assertEqual(found["revolves"]["outcome"], "corrupt")
        _, found = self.faulty(calls[1:1025], "-a", "revolves", code=DONE)
        self.assertEqual(found["revolves"]["outcome"], "done")

    def test_hangs_and_crashes_cost_a_row(self):
        _, found = self.faulty(CALLS, "-a", "hangs,dies,good", code=INTERNAL, limit=2)
        self.assertEqual(found["hangs"]["outcome"], "hang")
        self.assertEqual(found["dies"]["message"], "its process was killed by signal 9 (Killed)")
        self.assertIn(found["good"]["outcome"], ("done", "skipped"))


if __name__ == "__main__":
    unittest.main()
