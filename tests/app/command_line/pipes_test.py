"""Pipes without another end, as inputs and outputs, and what cannot come through one."""

import json
import lzma
import os
import subprocess
import threading
import time
import unittest

from command_line import (
    BAD_INPUT, DONE, EXECUTABLE, INTERNAL, MODELS, USAGE, build, compare, environment, folder,
    run,
)

GEM = MODELS / "gem.obj"


class Pipes(unittest.TestCase):
    def test_without_a_reader(self):
        with folder() as place:
            pipe = place / "pipe"
            os.mkfifo(pipe)
            for arguments in (("build", GEM, "--json", pipe), ("build", GEM, "--trace", pipe),
                              ("compare", GEM, "--json", pipe), ("compare", GEM, "--html", pipe),
                              ("bench", "ad", "--json", pipe), ("list", "--json", pipe)):
                result = run(*arguments)
                self.assertEqual(result.returncode, USAGE, result.stderr)
                self.assertIn("no process reads this named pipe", result.stderr)
            result = compare(GEM, "--resume", pipe)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn("a journal is a file", result.stderr)

    def test_without_a_writer(self):
        with folder() as place:
            pipe = place / "pipe"
            os.mkfifo(pipe)
            for verb in ("build", "compare", "replay"):
                result = run(verb, pipe)
                self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
                self.assertIn(f"{pipe}: is a named pipe that no process writes to", result.stderr)

    def test_a_tree_through_one(self):
        """By a name that says nothing of what is in it, and by one that does."""
        with folder() as place:
            tree, pipe = place / "t.kdt", place / "pipe.kdt"
            self.assertEqual(build(GEM, "--repeat", 1, "--out", tree).returncode, DONE)
            os.mkfifo(pipe)
            held = os.open(pipe, os.O_RDWR)
            self.addCleanup(os.close, held)
            for verb in (("inspect",), ("trace",), ("render", "-o", place / "x.png"), ("build",)):
                for name in ("/dev/stdin", pipe):
                    if (verb[0], name) == ("build", pipe):
                        continue  # no byte comes
                    end, feed = os.pipe()
                    os.write(feed, tree.read_bytes()[:4096])
                    os.close(feed)
                    words = [str(word) for word in (EXECUTABLE, verb[0], name, *verb[1:])]
                    with os.fdopen(end) as stdin:
                        result = subprocess.run(words, stdin=stdin, capture_output=True, text=True,
                                                env=environment(), timeout=60, check=False)
                    with self.subTest(verb=verb[0], name=name):
                        self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
                        self.assertIn(f"{name}: ", result.stderr)
                        self.assertIn("a tree is read from a regular file, not through a pipe: "
                                      "write it to a file, and name that", result.stderr)
                        self.assertNotIn("which 'heapwood inspect'", result.stderr)

    def test_a_trace_and_a_graph_are_no_scenes(self):
        """Whatever their names would be as those of scenes."""
        with folder() as place:
            traces = [place / "a.list", place / "gen:soup:9"]
            for trace in traces:
                made = build(GEM, "-a", "halloc", "--repeat", 1, "--trace", trace)
                self.assertEqual(made.returncode, DONE, made.stderr)
                trace.write_bytes(lzma.compress(trace.read_bytes()))
                result = run("replay", trace.name, "-a", "halloc", "--device", "cpu", "--repeat", 1,
                             cwd=place)
                self.assertEqual(result.returncode, DONE, result.stderr)
            graph = place / "roads.list"
            graph.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n"
                             "% the streets of all.list\n2 2 1\n2 1\n")
            result = run("bench", "graph-init", "churn", "--quick", "-a", "halloc", "--device", "cpu",
                         "--sizes", traces[0], "--graph", graph)
            self.assertEqual(result.returncode, DONE, result.stderr)
            # A pipe is one, whatever its name.
            pipe = place / "gen:soup:10"
            os.mkfifo(pipe)
            result = run("replay", pipe.name, cwd=place)
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertIn("is a named pipe that no process writes to, and several processes are to",
                          result.stderr)

    def test_several_processes_cannot_read_one(self):
        """Each of them would wait for bytes that another has read."""
        with folder() as place:
            pipe, names, out = place / "pipe.obj", place / "s.list", place / "t.kdt"
            os.mkfifo(pipe)
            names.write_text("gen:sphere:9\npipe.obj\n", encoding="utf-8")
            link = place / "link.obj"
            link.symlink_to("/dev/stdin")
            held = os.open(pipe, os.O_RDWR)
            os.write(held, GEM.read_bytes())
            calls = [call for path in (pipe, link, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0",
                                       f"/dev/fd/{held}")
                     for call in (("compare", path), ("compare", GEM, path), ("replay", path),
                                  ("bench", "graph-init", "--graph", path),
                                  ("bench", "churn", "--sizes", path),
                                  ("build", path, "--parts", 2, "--out", out))]
            calls += [("compare", names), ("build", names, "--parts", 2, "--out", out)]
            with open(GEM, "rb") as file:
                for arguments in calls:
                    for stdin in (held, file):
                        with self.subTest(arguments=arguments, stdin=stdin):
                            result = run(*arguments, "--device", "cpu", stdin=stdin, pass_fds=[held])
                            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
                            self.assertIn("write it to a file", result.stderr)
            result = run("compare", names, "--device", "cpu")
            self.assertRegex(result.stderr, r"s\.list:2: .*pipe\.obj: is a pipe, whose bytes")
            os.close(held)

    def test_one_process_reads_standard_input(self):
        for verb in ("build", "trace", "inspect"):
            with open(GEM, "rb") as scene:
                result = run(verb, "/dev/stdin", "--device", "cpu", stdin=scene)
            self.assertEqual(result.returncode, DONE, result.stderr)

    def test_with_a_reader(self):
        with folder() as place:
            pipe = place / "pipe"
            os.mkfifo(pipe)
            with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
                deadline = time.monotonic() + 30
                while time.monotonic() < deadline:
                    result = build(GEM, "--repeat", 1, "--json", pipe)
                    if "no process reads" not in result.stderr:
                        break  # the reader has opened it by now
                text, _ = reader.communicate(timeout=60)
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertEqual(json.loads(text)["schema"], 1)

    def test_with_a_slow_writer(self):
        with folder() as place:
            pipe = place / "pipe.obj"
            os.mkfifo(pipe)

            def write():
                time.sleep(0.3)
                with open(pipe, "wb") as end:
                    time.sleep(0.3)
                    end.write(GEM.read_bytes())
            writer = threading.Thread(target=write)
            writer.start()
            result = build(pipe, "--repeat", 1)
            writer.join()
            self.assertEqual(result.returncode, DONE, result.stderr)

    def test_with_a_reader_that_goes_away(self):
        with folder() as place:
            pipe, scene = place / "pipe", place / "scene.obj"
            os.mkfifo(pipe)
            os.mkfifo(scene)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            with subprocess.Popen([EXECUTABLE, "build", scene, "--device", "cpu", "--json", pipe],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env=environment()) as process:
                # The program has opened its output before it opens the scene, which it waits for.
                with open(scene, "wb") as writer:
                    os.close(reader)
                    writer.write(GEM.read_bytes())
                _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, INTERNAL, errors)
            self.assertIn(b"pipe", errors)


if __name__ == "__main__":
    unittest.main()
