"""Files that would be overwritten, pipes without another end, and values that are refused."""

import json
import lzma
import os
import pathlib
import shutil
import subprocess
import threading
import time
import unittest

from command_line import (
    BAD_INPUT, DONE, EXECUTABLE, INTERNAL, MODELS, OUT_OF_MEMORY, USAGE, build, compare,
    environment, folder, run,
)

GEM = MODELS / "gem.obj"


class SameFiles(unittest.TestCase):
    def refused(self, kept, *arguments):
        before = kept.read_bytes() if kept.exists() else None
        result = run(*arguments)
        self.assertEqual(result.returncode, USAGE, result.stderr)
        self.assertIn("are the same file", result.stderr)
        self.assertEqual(kept.read_bytes() if kept.exists() else None, before)

    def test_outputs_never_overwrite_inputs(self):
        with folder() as place:
            scene, link, hard = place / "x.obj", place / "link.obj", place / "hard.obj"
            shutil.copy(GEM, scene)
            link.symlink_to(scene)
            os.link(scene, hard)
            for other in (scene, link, hard, place / "." / "x.obj"):
                self.refused(scene, "build", scene, "--json", other)
                self.refused(scene, "build", scene, "--trace", other)
                self.refused(scene, "build", scene, "--out", other)
                self.refused(scene, "compare", scene, "--json", other)
                self.refused(scene, "compare", GEM, scene, "--html", other)
                self.refused(scene, "compare", GEM, scene, "--resume", other)
            # What may stand beside a file of results while it is written.
            beside = place / "out.json.new"
            shutil.copy(GEM, beside)
            result = build(beside, "--repeat", 1, "--json", place / "out.json")
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertEqual(beside.read_bytes(), GEM.read_bytes())
            self.assertEqual(sorted(path.name for path in place.iterdir()),
                             ["hard.obj", "link.obj", "out.json", "out.json.new", "x.obj"])

    def test_traces_too(self):
        with folder() as place:
            trace = place / "x.trace"
            self.assertEqual(build(GEM, "--repeat", 1, "--trace", trace).returncode, DONE)
            self.refused(trace, "replay", trace, "--json", trace)
            self.refused(trace, "replay", trace, "--resume", trace)

    def test_nor_what_the_input_names(self):
        """Files of lists, and frames; by any name that leads to them, and for every output."""
        with folder() as place:
            one, hard, link = place / "one.obj", place / "hard.kdt", place / "link"
            shutil.copy(GEM, one)
            os.link(one, hard)
            link.symlink_to("one.obj")
            some, frame = place / "some.list", place / "frame_1.obj"
            some.write_text("# scenes\ngen:soup:20\none.obj\n")
            shutil.copy(GEM, frame)
            (place / "frame_0.list").write_text("one.obj\n")
            tree = place / "a.kdt"
            self.assertEqual(build(GEM, "--repeat", 1, "--out", tree).returncode, DONE)
            for other in (one, hard, link):
                for option in ("--json", "--html", "--trace", "--out"):
                    self.refused(one, "build", some, option, other)
                    self.refused(one, "build", GEM, "--frames", place / "frame_%d.list", option,
                                 other)
                self.refused(one, "build", some, "--memory", "1GiB", "--out", other)
                self.refused(one, "build", some, "--parts", 2, "--out", other)
                for option in ("--json", "--html", "--resume"):
                    self.refused(one, "compare", GEM, some, option, other)
                for option in ("--json", "--html"):
                    self.refused(one, "trace", some, option, other)
                    self.refused(one, "render", some, "-o", place / "a.png", option, other)
                self.refused(one, "inspect", some, "--boxes", other)
                self.refused(one, "inspect", some, "--json", other)
            self.refused(some, "build", some, "--json", some)
            self.refused(frame, "build", GEM, "--frames", place / "frame_%d.obj", "--out", frame)
            self.refused(tree, "inspect", tree, "--json", tree)
            picture = place / "a.png"
            shutil.copy(GEM, picture)
            self.refused(picture, "render", picture, "-o", picture)
            # The journal that a run keeps beside its results.
            journal = place / "x.json.partial"
            shutil.copy(GEM, journal)
            self.refused(journal, "compare", journal, "--json", place / "x.json")
            self.refused(journal, "compare", GEM, "--json", place / "x.json", "--html", journal)

    def test_nor_the_files_of_bench(self):
        with folder() as place:
            graph = place / "x.mtx"
            graph.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")
            self.refused(graph, "bench", "graph-init", "--graph", graph, "--json", graph)

    def test_standard_output_is_an_output(self):
        with folder() as place:
            scene, out = place / "x.obj", place / "out.json"
            shutil.copy(GEM, scene)
            for arguments, path in (((scene, "--csv"), scene), ((GEM, "--json", out), out),
                                    ((GEM, "--json", "/dev/stdout"), out)):
                with open(path, "a", encoding="utf-8") as end:
                    result = build(*arguments, "--repeat", 1, stdout=end)
                self.assertEqual(result.returncode, USAGE, result.stderr)
                self.assertIn("standard output", result.stderr)
            self.assertEqual(scene.read_bytes(), GEM.read_bytes())
            with open(place / "tables", "w", encoding="utf-8") as end:
                self.assertEqual(build(GEM, "--repeat", 1, "--json", out, stdout=end).returncode,
                                 DONE)

    def test_outputs_never_overwrite_each_other(self):
        with folder() as place:
            a = place / "a"
            self.refused(a, "build", GEM, "--json", a, "--trace", place / "." / "a")
            self.refused(a, "build", GEM, "--json", a, "--out", place / "." / "a")
            self.refused(a, "compare", GEM, "--json", a, "--html", a)
            self.refused(a, "compare", GEM, "--json", a, "--resume", a)
            self.refused(a, "bench", "ad", "--json", a, "--resume", a)
            link = place / "link"  # to a file that will be there
            link.symlink_to("a")
            self.refused(a, "build", GEM, "--json", a, "--html", link)
            # A device keeps nothing.
            result = compare(GEM, "-a", "cmalloc", "--repeat", 1, "--json", "/dev/null", "--html",
                             "/dev/null")
            self.assertEqual(result.returncode, DONE, result.stderr)

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "needs a full device")
    def test_a_page_on_a_full_device(self):
        for _ in range(2):  # the first must leave nothing behind that stops the second
            result = compare(GEM, "-a", "cmalloc", "--repeat", 1, "--html", "/dev/full")
            self.assertEqual(result.returncode, INTERNAL)
            self.assertEqual(result.stderr,
                             "heapwood: error: '/dev/full' could not be written in full: No space "
                             "left on device\n")
        self.assertFalse(pathlib.Path("/dev/full.partial").exists())


class TreeFiles(unittest.TestCase):
    def test_one_file_for_all_builders(self):
        with folder() as place:
            one, all_of_them = place / "one.kdt", place / "all.kdt"
            one.write_text("a former file")
            result = build(GEM, "-a", "hybrid", "--repeat", 1, "--threads", 1, "--out", one)
            self.assertEqual(result.returncode, DONE, result.stderr)
            result = build(GEM, "-a", "all", "--method", "single,levels", "--repeat", 1, "--json",
                           place / "x.json", "-o", all_of_them)
            self.assertEqual(result.returncode, DONE, result.stderr)
            data = one.read_bytes()
            self.assertEqual(data, all_of_them.read_bytes())
            self.assertEqual(data[:12], b"\x89KDT\r\n\x1a\n\2\0\0\0")
            self.assertEqual(len(data), int.from_bytes(data[16:24], "little"))
            tree = json.loads((place / "x.json").read_text())["results"][0]["tree"]
            self.assertEqual(tree["digest"], f"{int.from_bytes(data[32:40], 'little'):016x}")
            self.assertEqual(sorted(path.name for path in place.iterdir()),
                             ["all.kdt", "one.kdt", "x.json"])

    def test_no_file_without_a_tree(self):
        with folder() as place:
            result = build(GEM, "-a", "cmalloc", "--pool", "1KiB", "--out", place / "x.kdt")
            self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
            self.assertFalse((place / "x.kdt").exists())

    def test_wrong_arguments(self):
        with folder() as place:
            for path, why in (("-", "a tree needs a file"), (place, "Is a directory"),
                              (place / "none" / "x.kdt", "No such file or directory")):
                result = build(GEM, "--out", path)
                self.assertEqual(result.returncode, USAGE, result.stderr)
                self.assertIn(why, result.stderr)

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "needs a full device")
    def test_on_a_full_device(self):
        result = build(GEM, "--repeat", 1, "--out", "/dev/full")
        self.assertEqual(result.returncode, INTERNAL)
        self.assertIn("'/dev/full' could not be written in full: No space left on device",
                      result.stderr)


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


class Values(unittest.TestCase):
    def refused(self, word, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, USAGE, result.stdout + result.stderr)
        self.assertIn(word, result.stderr)

    def test_lists(self):
        for names in ("all,nope", "nope,all"):
            self.refused("no allocator 'nope'", "build", GEM, "-a", names)
            self.refused("no allocator 'nope'", "bench", "ad", "-a", names)
        for names in ("cmalloc,", ",cmalloc", "cmalloc,,buddy", ""):
            self.refused("empty item", "build", GEM, "-a", names)
            self.refused("empty item", "compare", GEM, "-a", names)
            self.refused("empty item", "bench", "ad", "-a", names)
        self.refused("empty item", "compare", GEM, "--pool", "20x,")
        self.refused("empty item", "build", GEM, "--method", "single,")
        result = run("build", GEM, env={"HEAPWOOD_ALLOCATOR": "cmalloc,"})
        self.assertEqual(result.returncode, USAGE)

    def test_numbers_with_a_zero_in_front(self):
        for arguments in (("--repeat", "010"), ("--pool", "010x"), ("--pool", "010MiB"),
                          ("--leaf-area", "01.5"), ("--pool", "00.5x")):
            self.refused("0", "build", GEM, *arguments)
        self.refused("010KiB", "bench", "ad", "--pool", "010KiB")
        result = build("gen:city:0100")
        self.assertEqual(result.returncode, BAD_INPUT)
        result = build("gen:city:100:07")
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertEqual(build("gen:city:100:0", "--pool", "200.50x", "--leaf-area", "0.5",
                               "--repeat", 1).returncode, DONE)

    def test_pools_that_are_too_small_for_a_replay(self):
        with folder() as place:
            trace = place / "x.trace"
            self.assertEqual(build(GEM, "--repeat", 1, "--trace", trace).returncode, DONE)
            result = run("replay", trace, "--device", "cpu", "--pool", "1B", "-a",
                         "cmalloc,buddy", "--json", "-")
            self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
            for found in json.loads(result.stdout)["results"]:
                self.assertEqual(found["outcome"], "out_of_pool")
                self.assertIn("a pool of 1 B is below the ", found["message"])

    def test_a_scene_that_is_named_twice_is_read_once(self):
        with folder() as place:
            scene, link = place / "x.obj", place / "y.obj"
            shutil.copy(GEM, scene)
            link.symlink_to(scene)
            result = compare(scene, f"{place}/./x.obj", link, "-a", "cmalloc", "--repeat", 1,
                             "--json", "-")
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertEqual(len(json.loads(result.stdout)["scenes"]), 1)

    def test_the_default_allocator(self):
        for scene in (GEM, "gen:soup:1", "gen:soup:20"):
            result = build(scene, "--repeat", 1, "--json", "-")
            self.assertEqual(result.returncode, DONE, result.stderr)
            found = json.loads(result.stdout)["results"][0]
            self.assertEqual(found["build"]["allocator"], "cambium")


if __name__ == "__main__":
    unittest.main()
