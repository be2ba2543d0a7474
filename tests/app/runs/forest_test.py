"""`heapwood build` in parts: the tree of an ordinary build, in its file, and mistakes."""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from command_line import (BAD_INPUT, DONE, EXECUTABLE, INTERRUPTED, MODELS, OUT_OF_MEMORY,
                          NO_DEVICE, USAGE, build, environment, folder, report, run)
from schemas import document

SCENE = "gen:sphere:200000"


def in_parts(*arguments):
    return document(build(*arguments, "--json", "-"), "forest")


def workers(process):
    """The numbers of the worker processes that a process has at the moment; without those whose
    start it still waits for."""
    def runs(number):
        try:
            return b"\0worker\0" in pathlib.Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:
            return False  # it has ended meanwhile

    listed = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(number) for number in listed.split() if runs(number)]


class Forest(unittest.TestCase):
    def test_the_file_is_that_of_an_ordinary_build(self):
        with folder() as place:
            whole, parts = place / "whole.kdt", place / "parts.kdt"
            single = report(SCENE, "--repeat", 1, "--no-statistics", "--out", whole)
            found = in_parts(SCENE, "--memory", "145MiB", "--out", parts)
            self.assertEqual(found["build"]["digest"], single["results"][0]["tree"]["digest"])
            self.assertTrue(parts.read_bytes() == whole.read_bytes(), "the files differ")
            self.assertGreater(found["build"]["cells"], 2)
            self.assertGreater(found["build"]["parts"], 1)
            self.assertEqual(found["levels"][0]["open"], 1)
            self.assertEqual(sorted(place.iterdir()), [parts, whole])

    def start(self, *arguments):
        """A build that runs meanwhile, as soon as it has a worker."""
        process = subprocess.Popen(
            [EXECUTABLE, "build", "--device", "cpu", *map(str, arguments)], env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        while process.poll() is None and not workers(process):
            time.sleep(0.001)
        return process

    def test_processes_build_the_same_file(self):
        with folder() as place:
            whole, parts = place / "whole.kdt", place / "parts.kdt"
            scene = "gen:city:30000"
            report(scene, "--repeat", 1, "--no-statistics", "--out", whole)
            for number in (1, 3):
                found = in_parts(scene, "--parts", number, "--out", parts)
                self.assertEqual(found["build"]["processes"], number)
                self.assertEqual(found["build"]["lost"], 0)
                self.assertTrue(parts.read_bytes() == whole.read_bytes(), "the files differ")
            self.assertEqual(sorted(place.iterdir()), [parts, whole])

    def test_more_processes_have_less_of_the_scene_each(self):
        with folder() as place:
            one, four = (in_parts("gen:soup:300000", "--parts", parts, "--out", place / "a.kdt")
                         for parts in (1, 4))
            self.assertEqual(one["build"]["digest"], four["build"]["digest"])
            self.assertEqual(one["scene"], four["scene"])
            self.assertLess(four["build"]["worker_peak_bytes"],
                            0.6 * one["build"]["worker_peak_bytes"])

    def test_several_files_are_one_scene(self):
        with folder() as place:
            one, whole, parts = place / "one.obj", place / "whole.kdt", place / "parts.kdt"
            models = [MODELS / f"{name}.obj" for name in ("trefoil", "cottage", "trefoil", "gem")]
            scene = place / "all.list"
            scene.write_text("\n".join(map(str, models)))
            vertices, faces, before = [], [], 0
            for model in models:
                text = model.read_text().replace("\\\n", " ")  # one line a statement
                rows = [line.split() for line in text.splitlines() if line]
                own = [" ".join(row) for row in rows if row[0] == "v"]
                vertices += own
                faces += ["f " + " ".join(str(int(corner.split("/")[0]) + before)
                                          for corner in row[1:])
                          for row in rows if row[0] == "f"]
                before += len(own)
            one.write_text("\n".join(vertices + faces))
            wanted = report(one, "--repeat", 1, "--no-statistics", "--out", whole)
            listed = report(scene, "--repeat", 1, "--no-statistics")
            self.assertEqual(listed["results"][0]["tree"], wanted["results"][0]["tree"])
            for number in (1, 2, 3, 8):
                found = in_parts(scene, "--parts", number, "--out", parts)
                self.assertEqual(found["provenance"]["scene_digest"],
                                 wanted["provenance"]["scene_digest"])
                self.assertTrue(parts.read_bytes() == whole.read_bytes(), "the files differ")
            scene.write_text(f"{models[0]}\nlost.obj\n")
            before = parts.read_bytes()
            result = build(scene, "--parts", 2, "--out", parts)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("all.list:2: ", result.stderr)
            self.assertIn("lost.obj", result.stderr)
            self.assertEqual(parts.read_bytes(), before)

    def test_a_scene_that_a_process_cannot_load(self):
        with folder() as place:
            scene = place / "bad.obj"
            scene.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n")
            result = build(scene, "--parts", 2, "--out", place / "a.kdt")
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("bad.obj:4: face index 4", result.stderr)
            self.assertEqual(list(place.iterdir()), [scene])

    def test_processes_that_are_killed_are_replaced(self):
        with folder() as place:
            whole, parts = place / "whole.kdt", place / "parts.kdt"
            report(SCENE, "--repeat", 1, "--no-statistics", "--out", whole)
            process = self.start(SCENE, "--parts", 2, "--out", parts)
            first = workers(process)[:1]
            for number in first:
                os.kill(number, signal.SIGKILL)
            output, errors = process.communicate(timeout=300)
            self.assertEqual(process.returncode, DONE, errors)
            self.assertIn("1 worker process", output)
            self.assertTrue(parts.read_bytes() == whole.read_bytes(), "the files differ")
            self.assertEqual(sorted(place.iterdir()), [parts, whole])

    def test_processes_that_hang_are_replaced(self):
        with folder() as place:
            whole, parts = place / "whole.kdt", place / "parts.kdt"
            scene = "gen:city:30000"
            report(scene, "--repeat", 1, "--no-statistics", "--out", whole)
            process = self.start(scene, "--parts", 2, "--time-limit", 1, "--out", parts)
            stopped = workers(process)[:1]
            for number in stopped:
                os.kill(number, signal.SIGSTOP)
            output, errors = process.communicate(timeout=300)
            self.assertEqual(len(stopped), 1)
            self.assertEqual(process.returncode, DONE, errors)
            self.assertIn("ended early or hung", output.replace("\n", " "))
            self.assertTrue(parts.read_bytes() == whole.read_bytes(), "the files differ")
            for number in stopped:
                self.assertFalse(pathlib.Path(f"/proc/{number}").exists(), "it is still there")

    def test_an_interrupted_build_leaves_nothing(self):
        with folder() as place:
            tree = place / "a.kdt"
            tree.write_text("the former one")
            process = self.start(SCENE, "--parts", 2, "--out", tree)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=300)
            self.assertEqual(process.returncode, INTERRUPTED, errors)
            self.assertIn("interrupted", errors)
            self.assertEqual(tree.read_text(), "the former one")
            self.assertEqual(list(place.iterdir()), [tree])

    def test_options_of_the_tree(self):
        options = ("gen:hair:5000", "--preset", "paper", "--max-duplication", 3)
        with folder() as place:
            found = in_parts(*options, "--memory", "1GiB", "--out", place / "a.kdt")
            tree = report(*options, "--repeat", 1, "--no-statistics")["results"][0]["tree"]
            self.assertEqual(found["build"]["digest"], tree["digest"])
            self.assertEqual(found["build"]["depth_limit"], tree["depth_limit"])

    def test_too_little_memory(self):
        with folder() as place:
            tree = place / "a.kdt"
            tree.write_text("the former one")
            result = build(SCENE, "--memory", "70MiB", "--out", tree)
            self.assertEqual(result.returncode, OUT_OF_MEMORY)
            self.assertIn("the build needs about", result.stderr)
            self.assertIn("--memory", result.stderr)
            self.assertEqual(tree.read_text(), "the former one")
            self.assertEqual(list(place.iterdir()), [tree])

    def test_more_memory_than_allowed_is_said(self):
        with folder() as place:
            result = build("gen:slivers:30000", "--leaf-limit", 1, "--leaf-area", 0,
                           "--memory", "100MiB", "--out", place / "a.kdt")
            self.assertEqual(result.returncode, DONE)
            self.assertIn("more than the 100 MiB of --memory", result.stdout.replace("\n", " "))

    def test_mistakes(self):
        scene = MODELS / "gem.obj"
        with folder() as place:
            tree = place / "a.kdt"
            for arguments, words in ((("--memory", "1GiB"), "--out"),
                                     (("--memory", "20x", "--out", tree), "4GiB"),
                                     (("--memory", "1GiB", "--out", tree, "--verify"), "--verify"),
                                     (("--parts", 2), "--out"),
                                     (("--parts", 2, "--memory", "1GiB", "--out", tree),
                                      "give one"),
                                     (("--memory", "1GiB", "--out", tree, "--trace", place / "t"),
                                      "--trace")):
                result = build(scene, *arguments)
                self.assertEqual(result.returncode, USAGE, arguments)
                self.assertIn(words, result.stderr)
            nowhere = place / "nowhere" / "a.kdt"
            result = build(scene, "--memory", "1GiB", "--out", nowhere)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn(str(nowhere), result.stderr)
            self.assertEqual(list(place.iterdir()), [])

    def test_mistakes_with_devices(self):
        scene = MODELS / "gem.obj"
        with folder() as place:
            tree = ("--out", place / "a.kdt")
            for arguments, words in ((("--devices", "0", "--device", "cpu"), "--device is cpu"),
                                     (("--devices", "0,x"), "'x'"),
                                     (("--devices=-1",), "'-1'"),
                                     (("--devices", "0", "--parts", "1", "--memory", "1GiB"),
                                      "--parts")):
                result = run("build", scene, *arguments, *tree)
                self.assertEqual(result.returncode, USAGE, arguments)
                self.assertIn(words, result.stderr)
            # The same for a machine without a GPU, and for one whose GPU is hidden from CUDA.
            result = run("build", scene, "--devices", "0,1", *tree,
                         env={"CUDA_VISIBLE_DEVICES": ""})
            self.assertEqual(result.returncode, NO_DEVICE)
            self.assertIn("no GPU to build on: ", result.stderr)
            self.assertEqual(list(place.iterdir()), [])

    def test_what_has_no_effect_is_said(self):
        with folder() as place:
            result = build(MODELS / "gem.obj", "--memory", "1GiB", "--out", place / "a.kdt",
                           "--repeat", 3, "-a", "hybrid")
            self.assertEqual(result.returncode, DONE)
            self.assertIn("no effect of --allocator, --repeat", result.stderr)


if __name__ == "__main__":
    unittest.main()
