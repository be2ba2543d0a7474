"""Comparisons that end early: Ctrl-C, killed processes, full disks; and how they go on."""

import fcntl
import json
import os
import pathlib
import resource
import signal
import subprocess
import time
import unittest

from compare_test import KIND
from command_line import (
    DONE, EXECUTABLE, FAKES, INTERNAL, INTERRUPTED, MODELS, USAGE, compare, environment, folder,
)
from schemas import violations

SCENE = "gen:soup:300"
# Two pools, three turns of a tenth of a second and more for one of two allocators.
SLOW = ("compare", "--device", "cpu", SCENE, "-a", "atomicmalloc,lingers", "--pool", "200x,100x",
        "--repeat", "3", "--warm-up", "0")
TURNS = 12


def start(*arguments, executable=FAKES, **options):
    return subprocess.Popen([executable, *map(str, arguments)], env=environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                            **options)


def lines(path):
    """Whole lines of a journal; the first is its header."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.005)


def workers(parent):
    """Process numbers of a process's workers by allocator."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent_of = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue  # it has ended meanwhile
        if parent_of == parent and words[1:2] == [b"worker"]:
            found[words[2].decode()] = int(entry.name)
    return found


def alive(process):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


class Interrupts(unittest.TestCase):
    def interrupted(self, place, how, *arguments):
        """Ends a comparison after four turns and checks what is left of it."""
        out, journal = place / "out.json", place / "out.json.partial"
        process = start(*SLOW, "--json", out, *arguments, start_new_session=True)
        wait_for(lambda: lines(journal) >= 5, "four turns")
        children = workers(process.pid)
        self.assertEqual(set(children), {"atomicmalloc", "lingers"})
        how(process)
        stdout, stderr = process.communicate(timeout=60)
        wait_for(lambda: not any(map(alive, children.values())), "the workers' end")
        return process.returncode, stdout, stderr

    def check_resumed(self, place, before):
        """That the rest is done, and that nothing is done twice."""
        out, journal = place / "out.json", place / "out.json.partial"
        turns = [json.loads(line) for line in before.splitlines()[1:] if line.endswith(b"}")]
        self.assertLess(len(turns), TURNS)
        result = compare(*SLOW[3:], "--json", out, "--resume", journal, executable=FAKES)
        self.assertEqual(result.returncode, DONE, result.stderr)
        found = json.loads(out.read_text())
        self.assertTrue(found["complete"])
        self.assertEqual(violations(found, KIND), [])
        self.assertFalse(journal.exists(), "the JSON has it all")
        for number, cell in enumerate(found["cells"]):
            noted = [turn["turn"]["sample"]["build"]["ms"]["samples"] for turn in turns
                     if turn["cell"] == number]
            samples = cell["build"]["ms"]["samples"]
            self.assertEqual(len(samples), 3)
            self.assertEqual([[sample] for sample in samples[:len(noted)]], noted)

    def test_control_c(self):
        for number, code in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 143)):
            # As a terminal does it: all processes of the group at once.
            with folder() as place:
                code_found, stdout, stderr = self.interrupted(
                    place, lambda process: os.killpg(process.pid, number))
                self.assertEqual(code_found, code, stderr)
                self.assertEqual(stderr, "heapwood: error: interrupted; go on with the same command "
                                         f"and --resume {place}/out.json.partial\n")
                self.assertIn("THE COMPARISON IS NOT COMPLETE", stdout)
                self.assertIn("unfinished", stdout)
                found = json.loads((place / "out.json").read_text())
                self.assertFalse(found["complete"])
                self.assertEqual(violations(found, KIND), [])
                before = (place / "out.json.partial").read_bytes()
                self.check_resumed(place, before)

    def test_killed_outright(self):
        with folder() as place:
            code, _, _ = self.interrupted(place, lambda process: process.kill())
            self.assertEqual(code, -signal.SIGKILL)
            journal = place / "out.json.partial"
            before = journal.read_bytes()
            self.assertFalse((place / "out.json").exists(), "nothing, rather than a half")
            # And as if it had been writing at that moment.
            journal.write_bytes(before + before.splitlines()[1][:100])
            self.check_resumed(place, before)

    def test_a_worker_that_hangs_ends_with_its_parent(self):
        with folder() as place:
            journal = place / "journal"
            process = start("compare", "--device", "cpu", "gen:soup:300", "-a", "hangs",
                            "--resume", journal)
            wait_for(lambda: lines(journal) >= 2, "the turn before it hangs")
            worker = workers(process.pid)["hangs"]
            process.kill()
            process.communicate(timeout=60)
            wait_for(lambda: not alive(worker), "the worker's end")

    def test_the_same_command_does_not_lose_what_there_is(self):
        with folder() as place:
            self.interrupted(place, lambda process: process.send_signal(signal.SIGINT))
            before = (place / "out.json.partial").read_bytes()
            result = compare(*SLOW[3:], "--json", place / "out.json", executable=FAKES)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn(f"go on with --resume {place}/out.json.partial", result.stderr)
            self.assertEqual((place / "out.json.partial").read_bytes(), before)

    def test_without_a_file(self):
        process = start(*SLOW)
        wait_for(lambda: len(workers(process.pid)) == 2, "the workers")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertIn("give --json FILE or --resume FILE next time", stderr)

    def test_a_worker_that_is_killed(self):
        with folder() as place:
            process = start("compare", "--device", "cpu", MODELS / "trefoil.obj", "-a",
                            "atomicmalloc,cmalloc,hybrid", "--repeat", 20, "--threads", 1,
                            "--resume", place / "journal", "--json", place / "out.json", executable=EXECUTABLE)
            wait_for(lambda: lines(place / "journal") >= 5, "four turns")
            os.kill(workers(process.pid)["cmalloc"], signal.SIGKILL)
            _, stderr = process.communicate(timeout=60)
            self.assertEqual(process.returncode, INTERNAL, stderr)
            found = json.loads((place / "out.json").read_text())
            outcomes = {cell["build"]["allocator"]: cell["outcome"] for cell in found["cells"]}
            self.assertEqual(outcomes, {"atomicmalloc": "done", "cmalloc": "crashed",
                                        "hybrid": "done"})
            self.assertIn("was killed by signal 9", found["cells"][1]["message"])
            self.assertTrue((place / "journal").exists(), "the user's own file stays")


class Resume(unittest.TestCase):
    ARGUMENTS = (MODELS / "gem.obj", "-a", "atomicmalloc,cmalloc", "--repeat", 2)

    def test_of_a_finished_one_does_nothing_again(self):
        with folder() as place:
            arguments = (*self.ARGUMENTS, "--resume", place / "journal", "--minimal-pool", "--csv")
            first = compare(*arguments)
            before = (place / "journal").read_bytes()
            again = compare(*arguments)
            self.assertEqual((first.returncode, again.returncode), (DONE, DONE), again.stderr)
            self.assertEqual(again.stdout, first.stdout)
            self.assertEqual((place / "journal").read_bytes(), before)

    def test_allocators_take_turns(self):
        with folder() as place:
            compare(MODELS / "gem.obj", SCENE, "-a", "atomicmalloc,cmalloc,hybrid", "--repeat", 2,
                    "--pool", "200x,20x", "--resume", place / "journal")
            entries = [json.loads(line)
                       for line in (place / "journal").read_text().splitlines()[1:]]
        self.assertEqual([entry["cell"] for entry in entries],
                         [3 * group + allocator for group in range(4) for _ in range(2)
                          for allocator in range(3)])

    def test_failures_are_not_tried_again(self):
        with folder() as place:
            arguments = (SCENE, "-a", "exits", "--resume", place / "journal")
            for _ in range(2):
                result = compare(*arguments, executable=FAKES)
                self.assertEqual(result.returncode, INTERNAL)
                self.assertIn("exit code 3 (turn 1 of 5)", result.stdout)
            self.assertEqual(lines(place / "journal"), 2)

    def refused(self, journal, words, *arguments, executable=EXECUTABLE):
        before = journal.read_bytes()
        result = compare(*arguments, "--resume", journal, executable=executable)
        self.assertEqual(result.returncode, USAGE, result.stderr)
        self.assertEqual(result.stdout, "")
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(journal.read_bytes(), before)

    def test_of_another_comparison_is_refused(self):
        with folder() as place:
            journal, scene = place / "journal", place / "scene.obj"
            scene.write_bytes((MODELS / "gem.obj").read_bytes())
            arguments = (scene, *self.ARGUMENTS[1:])
            self.assertEqual(compare(*arguments, "--resume", journal).returncode, DONE)
            changes = {"configuration": ["--leaf-limit", 3], "preset": ["--preset", "paper"],
                       "pools": ["--pool", "20x"], "warm_up": ["--warm-up", 0],
                       "threads": ["--threads", 1], "forms": ["--presplit", "none"],
                       "arrays": ["--arrays", "large"], "host_pool": ["--host-pool", "off"],
                       "verify": ["--verify"], "statistics": ["--no-statistics"],
                       "minimal_pool": ["--minimal-pool"], "heap_map": ["--heap-map"],
                       "scenes": [MODELS / "cottage.obj"]}
            for word, change in changes.items():
                self.refused(journal, ["another run", word.replace("preset", "configuration")],
                             *arguments, *change)
            self.refused(journal, ["differs in: allocators, repeat;"], scene, "-a", "cmalloc")
            # What does not change the figures may change.
            self.assertEqual(compare(*arguments, "--resume", journal, "--time-limit", 9, "-q",
                                     "--latex").returncode, DONE)
            scene.write_text(scene.read_text().replace("v ", "v 1", 1))
            self.refused(journal, ["differs in: scenes;"], *arguments)

    def test_of_something_else_is_refused(self):
        with folder() as place:
            journal = place / "journal"
            for text in ("v 0 0 0\n", '{"schema": 1}\n', "{\n"):
                journal.write_text(text)
                self.refused(journal, [str(journal)], *self.ARGUMENTS)
            journal.unlink()
            compare(*self.ARGUMENTS, "--resume", journal)
            header, *rest = journal.read_text().splitlines()
            for line in ('{"cell": 99, "turn": {}}',
                         '{"cell": 0, "turn": {}}', "{}", "3"):
                journal.write_text("\n".join([header, *rest[:1], line]) + "\n")
                self.refused(journal, ["is damaged"], *self.ARGUMENTS)

    def test_figures_that_no_turn_has_are_refused(self):
        with folder() as place:
            journal = place / "journal"
            compare(*self.ARGUMENTS, "--resume", journal)
            header, first, *rest = journal.read_text().splitlines()
            changes = {
                ("build", "upload_ms"): -1, ("build", "pool_bytes"): -5, ("build", "warps"): -1,
                ("build", "overhead_bytes"): 1e300, ("memory", "nodes_bytes"): -3,
                ("build", "ms", "samples"): [-2.5], ("build", "ms", "samples", 0): -1,
                ("tree", "nodes"): -7, ("tree", "digest"): "x", ("allocations", "requests"): -1,
                ("tree", "verified"): 3, ("outcome",): "skipped", ("outcome",): "corrupt",
                ("build", "allocator"): "cmalloc",
            }
            for keys, value in changes.items():
                entry = json.loads(first)
                inner = entry["turn"]["sample"]
                for key in keys[:-1]:
                    inner = inner[key]
                inner[keys[-1]] = value
                journal.write_text("\n".join([header, json.dumps(entry), *rest]) + "\n")
                with self.subTest(keys=keys):
                    self.refused(journal, ["is damaged"], *self.ARGUMENTS)

    def test_that_is_no_file_is_refused(self):
        self.refused(pathlib.Path("/dev/null"), ["a journal is a file"], *self.ARGUMENTS)

    def test_that_is_made_is_told(self):
        with folder() as place:
            journal = place / "journal"
            made = f"heapwood: info: there is no '{journal}' to go on from: it is made"
            first = compare(*self.ARGUMENTS, "--resume", journal)
            self.assertEqual(first.stderr.count("\n"), 1, first.stderr)
            self.assertIn(made, first.stderr)
            self.assertEqual(compare(*self.ARGUMENTS, "--resume", journal).stderr, "")

    def test_in_use(self):
        with folder() as place:
            journal = place / "journal"
            with open(journal, "w", encoding="utf-8") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                self.refused(journal, ["in use"], *self.ARGUMENTS)

    def test_beside_a_run_that_goes_on(self):
        with folder() as place:
            journal = place / "out.json.partial"
            with open(journal, "w", encoding="utf-8") as held:
                held.write("a turn\n")
                held.flush()
                fcntl.flock(held, fcntl.LOCK_EX)
                result = compare(*self.ARGUMENTS, "--json", place / "out.json")
                self.assertEqual(result.returncode, USAGE)
                self.assertIn("still goes on: wait for its end", result.stderr)
                self.assertNotIn("delete it", result.stderr)
                self.assertEqual(journal.read_text(), "a turn\n")


class FullDisks(unittest.TestCase):
    ARGUMENTS = Resume.ARGUMENTS

    def check(self, result, *words):
        self.assertEqual(result.returncode, INTERNAL, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "needs a full device")
    def test_full_devices(self):
        with folder() as place:
            json_full = compare(*self.ARGUMENTS, "--json", "/dev/full", "--resume", place / "j")
            self.check(json_full, "'/dev/full' could not be written in full")
            self.assertIn("slowdown of the others", json_full.stdout, "the table is there")
            # Nothing is lost: the journal has all turns.
            again = compare(*self.ARGUMENTS, "--json", place / "out.json", "--resume", place / "j")
            self.assertEqual(again.returncode, DONE)
            self.assertTrue(json.loads((place / "out.json").read_text())["complete"])

            with open("/dev/full", "w", encoding="utf-8") as full:
                stdout_full = compare(*self.ARGUMENTS, "--json", place / "third.json", stdout=full)
            self.check(stdout_full, "standard output could not be written")
            self.assertTrue(json.loads((place / "third.json").read_text())["complete"])

    def test_old_results_stay_where_new_ones_do_not_fit(self):
        def limit():
            # Files of at most 4 KiB: room for some turns, but not for the JSON.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        with folder() as place:
            out = place / "out.json"
            out.write_text("old")
            result = compare(*self.ARGUMENTS, "--json", out, preexec_fn=limit, restore_signals=False)
            self.check(result, "out.json.partial' could not be written", "out.json' could not be")
            self.assertIn("slowdown of the others", result.stdout)
            self.assertEqual(out.read_text(), "old")
            self.assertEqual(sorted(p.name for p in place.iterdir()),
                             ["out.json", "out.json.partial"])
            # With room again the turns that were noted count.
            again = compare(*self.ARGUMENTS, "--json", out, "--resume", place / "out.json.partial")
            self.assertEqual(again.returncode, DONE, again.stderr)
            self.assertTrue(json.loads(out.read_text())["complete"])


if __name__ == "__main__":
    unittest.main()
