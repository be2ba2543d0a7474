"""Files of builds in parts that are ended at any moment, or cannot be written, and exit codes."""

import os
import pathlib
import resource
import signal
import subprocess
import time
import unittest

from command_line import (
    BAD_INPUT, DONE, EXECUTABLE, INTERNAL, OUT_OF_MEMORY, USAGE, build, dice, environment, folder, run,
    thorough,
)

SCENE = "gen:sphere:100000"
WAYS = (("--memory", "1GiB"), ("--parts", "2"))
OLD = b"what was there before"
PATIENCE = 60  # seconds


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dice = dice()
        with folder() as place:
            start = time.monotonic()
            for way in WAYS:
                assert build(SCENE, *way, "--out", place / "a.kdt").returncode == DONE
            cls.duration = (time.monotonic() - start) / len(WAYS)

    def struck(self, number, *arguments):
        """The exit code of a build that gets a signal at any moment."""
        def hear():  # a shell lets what runs in its background ignore SIGINT
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen([EXECUTABLE, "build", "--device", "cpu", *map(str, arguments)],
                              env=environment(), stdout=subprocess.DEVNULL, preexec_fn=hear,
                              stderr=subprocess.PIPE, encoding="utf-8") as process:
            time.sleep(self.dice.uniform(0.02, self.duration))
            process.send_signal(number)
            _, said = process.communicate(timeout=PATIENCE)
            return process.returncode, said

    def test_signals_leave_the_former_file_and_nothing_else(self):
        for way in WAYS:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                for _ in range(20 if thorough() else 2):
                    with self.subTest(way=way, signal=number), folder() as place:
                        tree = place / "a.kdt"
                        tree.write_bytes(OLD)
                        code, said = self.struck(number, SCENE, *way, "--out", tree)
                        self.assertEqual([path.name for path in place.iterdir()], ["a.kdt"])
                        # As the system ends it before it begins, or as it ends itself.
                        self.assertIn(code, (DONE, 128 + number, -number), said)
                        if code == 128 + number:
                            self.assertIn("interrupted; what", said)
                        if code == 128 + number:
                            self.assertEqual(tree.read_bytes(), OLD)
                        elif tree.read_bytes() != OLD:  # ended after the file was complete
                            self.assertEqual(run("inspect", tree).returncode, DONE)

    def test_what_a_killed_build_has_left_is_removed_by_the_next(self):
        for way in WAYS:
            with self.subTest(way=way), folder() as place:
                tree, others = place / "a.kdt", place / "a.kdt.parts.notours"
                others.mkdir()
                for _ in range(10 if thorough() else 3):
                    self.struck(signal.SIGKILL, SCENE, *way, "--out", tree)
                    left = {path.name for path in place.iterdir()} - {others.name, tree.name}
                    self.assertTrue(all(name.startswith("a.kdt.parts.") for name in left), left)
                self.assertEqual(build(SCENE, *way, "--out", tree).returncode, DONE)
                self.assertEqual({path.name for path in place.iterdir()},
                                 {tree.name, others.name})

    def test_a_build_leaves_those_alone_that_still_run(self):
        with folder() as place:
            command = [EXECUTABLE, "build", "--device", "cpu", SCENE, "--parts", "2", "--out",
                       str(place / "a.kdt")]
            builds = [subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, encoding="utf-8")
                      for _ in range(3)]
            for one in builds:
                self.assertEqual((one.communicate(timeout=300)[1], one.returncode), ("", DONE))
            self.assertEqual([path.name for path in place.iterdir()], ["a.kdt"])

    def test_a_limit_on_the_size_of_files(self):
        for way in WAYS:
            for most in (0, 4096, 1_000_000):
                with self.subTest(way=way, most=most), folder() as place:
                    tree = place / "a.kdt"
                    tree.write_bytes(OLD)

                    def limit(most=most):
                        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
                    result = build(SCENE, *way, "--out", tree, preexec_fn=limit)
                    self.assertEqual(result.returncode, INTERNAL, result.stderr)
                    self.assertIn("cannot be written", result.stderr)
                    self.assertEqual(tree.read_bytes(), OLD)
                    self.assertEqual([path.name for path in place.iterdir()], ["a.kdt"])

    def test_exit_codes(self):
        with folder() as place:
            pipe = place / "pipe"
            os.mkfifo(pipe)
            for way in WAYS:
                for out in (place, place / "none" / "a.kdt", pipe, "/dev/null"):
                    result = build(SCENE, *way, "--out", out)
                    self.assertEqual(result.returncode, USAGE, result.stderr)
                    self.assertIn(str(out), result.stderr)
                result = build("missing.obj", *way, "--out", place / "a.kdt")
                self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            result = build(SCENE, "--memory", "1MiB", "--out", place / "a.kdt")
            self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
            self.assertEqual([path.name for path in place.iterdir()], ["pipe"])

    def test_rights_of_a_replaced_file_stay(self):
        for way in WAYS:
            with folder() as place:
                tree = place / "a.kdt"
                tree.write_bytes(OLD)
                tree.chmod(0o640)
                self.assertEqual(build("gen:soup:500", *way, "--out", tree).returncode, DONE)
                self.assertEqual(tree.stat().st_mode & 0o7777, 0o640)
                self.assertNotEqual(tree.read_bytes(), OLD)


if __name__ == "__main__":
    unittest.main()
