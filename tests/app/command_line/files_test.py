"""Files that would be overwritten, files of trees, and values that are refused."""

import json
import os
import pathlib
import shutil
import unittest

from command_line import (
    BAD_INPUT, DONE, INTERNAL, MODELS, OUT_OF_MEMORY, USAGE, build, compare, folder, run,
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
            self.assertEqual(data[:12], b"\x89KDT\r\n\x1a\n\3\0\0\0")
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
