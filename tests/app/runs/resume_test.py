"""bench and replay that end early and go on, as compare does; and compare within a budget."""

import json
import signal
import subprocess
import time
import unittest

from command_line import (
    DONE, EXECUTABLE, FAKES, INTERRUPTED, USAGE, build, compared, environment, folder, run,
)
from schemas import violations

REPEAT = 150
BENCH = ("bench", "acd", "--device", "cpu", "--threads", "1", "--quick", "--repeat", str(REPEAT),
         "--time-limit", "600", "-a", "cmalloc,buddy")
REPLAY = ("replay", "--device", "cpu", "--threads", "1", "--repeat", str(REPEAT),
          "--time-limit", "600", "-a", "cmalloc,buddy")


def lines(path):
    """Whole lines of a journal; the first is its header."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def interrupt(journal, arguments, number=signal.SIGINT):
    """Ends a run after five turns and more. Returns its exit code and standard error."""
    with subprocess.Popen([EXECUTABLE, *map(str, arguments)], env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8") as process:
        deadline = time.monotonic() + 60
        while lines(journal) < 6 and process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
                raise AssertionError("waited in vain for five turns")
            time.sleep(0.002)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        return process.returncode, errors


def samples(kind, found):
    """The warm samples of each cell, by allocator and the cell's place in the results."""
    if kind == "replay":
        return {result["allocator"]: result["ms"]["samples"] for result in found["results"]}
    return {(number, cell["allocator"]): cell["metrics"]["ms"]["cold"]["samples"]
            for number, cell in enumerate(found["cells"])}


class Resume(unittest.TestCase):
    def check(self, kind, arguments, place, number, code):
        out, journal = place / "out.json", place / "out.json.partial"
        found, errors = interrupt(journal, (*arguments, "--json", out), number)
        self.assertEqual(found, code, errors)
        self.assertEqual(errors, "heapwood: error: interrupted; go on with the same command and "
                                 f"--resume {journal}\n")
        half = json.loads(out.read_text())
        self.assertEqual(violations(half, kind), [])
        noted = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
        self.assertLess(len(noted), 2 * REPEAT)

        refused = run(*arguments, "--json", out)
        self.assertEqual(refused.returncode, USAGE)
        self.assertIn(f"go on with --resume {journal}", refused.stderr)

        again = run(*arguments, "--json", out, "--resume", journal)
        self.assertEqual(again.returncode, DONE, again.stderr)
        self.assertFalse(journal.exists(), "the JSON has it all")
        whole = json.loads(out.read_text())
        self.assertEqual(violations(whole, kind), [])
        phase = "warm" if kind == "replay" else "cold"
        for number, (_, all_samples) in enumerate(samples(kind, whole).items()):
            before = [sample for entry in noted if entry["cell"] == number
                      for sample in entry["turn"]["sample"]["metrics"]["ms"][phase]]
            self.assertEqual(len(all_samples), REPEAT)
            self.assertEqual(all_samples[:len(before)], before)

    def test_bench(self):
        for number, code in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 143)):
            with folder() as place:
                self.check("bench", BENCH, place, number, code)

    def test_replay(self):
        with folder() as place:
            trace = place / "x.trace"
            result = build("gen:city:300", "--threads", 1, "--repeat", 1, "--trace", trace)
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.check("replay", (*REPLAY, trace), place, signal.SIGINT, INTERRUPTED)

    def test_of_something_else_is_refused(self):
        with folder() as place:
            journal = place / "journal"
            short = ["4" if word == str(REPEAT) else word for word in BENCH]
            self.assertEqual(run(*short, "--resume", journal).returncode, DONE)
            before = journal.read_bytes()
            for change, word in ((["--seed", 2], "seed"), (["--iterations", 3], "iterations"),
                                 (["--pool", "1MiB"], "pool")):
                result = run(*short, *change, "--resume", journal)
                self.assertEqual(result.returncode, USAGE)
                self.assertIn(f"is of another run, which differs in: {word};", result.stderr)
            header, first, *rest = journal.read_text().splitlines()
            entry = json.loads(first)
            entry["turn"]["sample"]["metrics"]["ms"]["cold"] = [-1]
            journal.write_text("\n".join([header, json.dumps(entry), *rest]) + "\n")
            result = run(*short, "--resume", journal)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn("is damaged", result.stderr)
            # Of a finished one nothing is done again.
            journal.write_bytes(before)
            again = run(*short, "--resume", journal, "--csv")
            self.assertEqual(again.returncode, DONE)
            self.assertEqual(journal.read_bytes(), before)


    def test_a_device_is_refused_for_it_keeps_nothing(self):
        result = run("bench", "ad", "--device", "cpu", "--quick", "-a", "cmalloc", "--resume",
                     "/dev/null")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("'/dev/null' keeps no turns to go on from", result.stderr)


class Budget(unittest.TestCase):
    def test_an_allocator_that_takes_too_long_is_skipped(self):
        scenes = ("gen:soup:300", "gen:soup:200")
        found = compared(*scenes, "-a", "atomicmalloc,lingers", "--pool", "200x,100x", "--repeat",
                         2, "--warm-up", 0, "--budget", 0.05, executable=FAKES)
        self.assertEqual(violations(found, "compare"), [])
        cells = {(cell["scene"], cell["pool"], cell["build"]["allocator"]): cell
                 for cell in found["cells"]}
        for scene in scenes:
            # A tenth of a second is more than the budget: one turn, and none with the next pool.
            self.assertEqual(cells[scene, "200x", "lingers"]["outcome"], "done")
            self.assertEqual(len(cells[scene, "200x", "lingers"]["build"]["ms"]["samples"]), 1)
            self.assertIsNotNone(cells[scene, "200x", "lingers"]["allocations"])
            skipped = cells[scene, "100x", "lingers"]
            self.assertEqual(skipped["outcome"], "skipped")
            self.assertEqual(skipped["message"],
                             "the 0.05 s that the allocator has for this scene were over")
        self.assertTrue(found["complete"])

    def test_without_a_budget_all_turns_are_taken(self):
        found = compared("gen:soup:300", "-a", "lingers", "--repeat", 2, "--warm-up", 0,
                         executable=FAKES)
        self.assertEqual(len(found["cells"][0]["build"]["ms"]["samples"]), 2)


if __name__ == "__main__":
    unittest.main()
