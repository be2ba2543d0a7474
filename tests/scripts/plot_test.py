"""Tests of scripts/plot.py on results made up for them."""

import collections
import json
import lzma
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from support import ROOT, needs, test_seed

needs("numpy", "pandas", "matplotlib", "rich", "typer")

import sample_results  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import plot  # noqa: E402
from figures import canvas, labels, results  # noqa: E402
from figures.style import Styles  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def dice():
    """(seed, generator)"""
    seed = test_seed()
    return seed, random.Random(seed)


def run(folder, documents, *arguments):
    """Draws {name: document or text} into folder/out: (exit code, output)."""
    paths = []
    for name, document in documents.items():
        path = folder / f"{name}.json"
        text = document if isinstance(document, str) else json.dumps(document)
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    result = CliRunner().invoke(plot.APP, [*paths, "--out", str(folder / "out"), *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def texts(path):
    """[(text, x, y)] of an SVG, in its units: points."""
    found = []
    for element in xml.etree.ElementTree.parse(path).iter(f"{SVG}text"):
        x, y = element.get("x"), element.get("y")
        if x is None:
            x, y = re.findall(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform"))[0]
        found.append(("".join(element.itertext()), float(x), float(y)))
    return found


class PublishedFiguresTest(unittest.TestCase):
    """scripts/make_results.py on a small repository of its own."""

    def run_script(self, text):
        """Makes what a README with this text asks for: (exit code, errors, names of SVG files)."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            figures = root / "scripts/results/figures"
            figures.mkdir(parents=True)
            (figures / "old.svg").write_text("<svg/>", encoding="utf-8")
            (root / "scripts/results/here.json").write_text(
                json.dumps(sample_results.compare()), encoding="utf-8")
            (root / "README.md").write_text(text, encoding="utf-8")
            result = subprocess.run(
                [sys.executable, "-B", ROOT / "scripts/make_results.py", "--root", root],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
            )
            return result.returncode, result.stderr, sorted(p.name for p in figures.iterdir())

    def test_only_figures_that_a_document_shows(self):
        self.assertEqual(
            self.run_script("![Time](scripts/results/figures/here-pool-size.svg)\n"),
            (0, "", ["here-pool-size.svg"]))

    def test_a_figure_that_no_result_has(self):
        code, errors, _ = self.run_script("[All](scripts/results/figures/here-none.svg)\n")
        self.assertEqual(code, 2)
        self.assertRegex(errors, r"README\.md: shows the figure here-none\.svg, which no result has")
        self.assertEqual(len(errors.splitlines()), 1)


class FiguresTest(unittest.TestCase):
    """All figures of one call."""

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.holder.name)
        cls.out = folder / "out"
        names = ("awmalloc", "cudamalloc", "cmalloc", "hybrid", "levels")
        without_reference = sample_results.compare(scenes=("a/x.obj", "b/x.obj"), allocators=names)
        for cell in without_reference["cells"]:
            if cell["build"]["allocator"] == "levels":  # the level method has no pool
                cell["build"]["pool_multiple"] = 0
        documents = {"c": sample_results.compare(), "b": sample_results.bench(),
                     "n": without_reference, "r": sample_results.replay()}
        cls.code, cls.output = run(folder, documents)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def words(self, name):
        return [text for text, _, _ in texts(self.out / f"{name}.svg")]

    def test_every_figure_as_png_and_svg(self):
        self.assertEqual(self.code, 0, self.output)
        wanted = {"c-slowdown-200x", "c-slowdown-20x", "c-pool-size"}
        wanted |= {"n-time-200x", "n-time-20x", "n-pool-size"}
        wanted |= {"r-replay"}
        wanted |= {f"b-{s['id'].replace('.', '-')}" for s, _ in sample_results.SERIES}
        files = {path.name for path in self.out.iterdir()}
        self.assertEqual(files, {f"{name}.{end}" for name in wanted for end in ("png", "svg")})
        self.assertEqual({pathlib.Path(line).name for line in self.output.split()}, files)
        for path in self.out.glob("*.png"):
            head = path.read_bytes()[:24]
            self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
            width, height = (int.from_bytes(head[i:i + 4], "big") for i in (16, 20))
            self.assertTrue(800 < width < 3000 and 400 < height < 3000, (path, width, height))

    def test_all_say_what_was_measured_where(self):
        for path in self.out.glob("*.svg"):
            words = " ".join(self.words(path.stem))
            self.assertIn("Made-up GPU · heapwood 0.1.0 (0123abc), Release", words)
            self.assertIn("2026-11-21", words)
            self.assertIn("* no full allocator", words)

    def test_slowdowns(self):
        words = self.words("c-slowdown-200x")
        self.assertIn("Slowdown against atomicmalloc, pool 200x", words)
        self.assertIn("bunny", words)
        self.assertIn("a & <b>", words)
        for text in ("atomicmalloc*", "hybrid", "1.00x", "2.20x", "20.0x"):
            self.assertEqual(words.count(text), 2, text)
        self.assertNotIn("Where atomicmalloc", " ".join(words))
        # At 20x it ran out of the pool.
        words = self.words("c-slowdown-20x")
        for text in ("out of pool", "hang", "hybrid", "2.20x", "20.0x"):
            self.assertEqual(words.count(text), 2, text)
        self.assertIn("Where atomicmalloc was not done: over its time with pool 200x.", words)

    def test_times_where_there_is_no_reference(self):
        words = self.words("n-time-20x")
        for text in ("hang", "hybrid", "cudamalloc", "levels"):
            self.assertEqual(words.count(text), 2, text)
        self.assertIn("1.52", words)
        self.assertIn("a/x.obj", words)  # the short names would be the same
        self.assertFalse([text for text in words if text.endswith("x") and text[:1].isdigit()])

    def test_time_against_pool_size(self):
        words = self.words("c-pool-size")
        # One allocator had a little less than it was given: one tick all the same.
        self.assertIn("20", words)
        self.assertEqual(words.count("200"), 2)
        self.assertFalse([text for text in words if text.startswith("19")])
        self.assertEqual(words.count("hybrid"), 2)
        note = "Without a time: atomicmalloc at 20x (out of pool); cmalloc at 20x (hang)."
        self.assertIn(note, " ".join(words))
        words = self.words("n-pool-size")
        self.assertEqual((words.count("hybrid"), words.count("levels")), (2, 0))

    def test_series_of_bench(self):
        words = self.words("b-alloc-thread-100000")
        self.assertIn("One request a thread, 100,000 threads", words)
        self.assertIn("alloc.thread.100000; after Made up 2026, figure 1", words)
        for title in ("allocation", "deallocation"):
            self.assertIn(f"{title} (ms)", words)
            self.assertIn(f"{title}, first iteration (ms)", words)
        self.assertEqual(words.count("hybrid"), 4)
        self.assertEqual(words.count("RegEff-C (TITAN V)"), 1)
        self.assertIn("Grey: Winter et al. 2021.", words)
        self.assertEqual(words.count("bytes requested"), 4)
        self.assertNotIn("0", words)  # the axes are logarithmic, though a published time is 0
        self.assertIn("Without a figure: cmalloc hang at 64Ki.", words)
        words = self.words("b-ad-payload")
        self.assertEqual(words.count("prefix-sum"), 1)  # a baseline: warm only, and no asterisk
        self.assertEqual(words.count("hybrid"), 2)
        words = self.words("b-registers")
        self.assertIn("each lane on its own", words)
        self.assertNotIn("lanes together", words)  # nothing is known of these
        words = self.words("b-churn-live")
        self.assertIn("allocation, median call (cycles)", words)
        self.assertIn("requests refused (%)", words)
        self.assertIn("0", words)  # that nothing is refused is a figure: no logarithmic axis
        for title in ("making (ms)", "resetting (ms)", "resetting, first iteration (ms)"):
            self.assertIn(title, self.words("b-init"))

    def test_replay(self):
        words = self.words("r-replay")
        self.assertIn("Replay of bunny.trace", words)
        for title in ("replay (ms)", "replay, first iteration (ms)",
                      "external fragmentation at the peak"):
            self.assertIn(title, words)
        self.assertIn("Without a figure: cmalloc hang.", words)
        self.assertIn("after 1000 requests of 64 callers, pool 256 MiB", " ".join(words))

    def test_names_at_line_ends_do_not_overlap(self):
        names = {f"{n}*" if n in sample_results.NOT_FULL else n for n in sample_results.ALLOCATORS}
        checked = 0
        for name in ("c-pool-size", "b-alloc-thread-100000", "b-oom", "b-fragmentation"):
            found = texts(self.out / f"{name}.svg")
            columns = collections.defaultdict(list)
            for text, x, y in found:
                if text in names:
                    columns[round(x)].append(y)
            for heights in columns.values():
                heights.sort()
                for above, below in zip(heights, heights[1:]):
                    self.assertGreater(below - above, labels.FONT_POINTS)
                    checked += 1
        self.assertGreater(checked, 35)


class PartsTest(unittest.TestCase):
    def test_spread_is_the_nearest_that_keeps_its_distance(self):
        seed, random_ = dice()

        def cost(places, wanted):
            return sum((a - b) ** 2 for a, b in zip(places, wanted))

        for _ in range(100):
            number = random_.randint(1, 9)
            wanted = [random_.choice([random_.uniform(0, 100), 50.0]) for _ in range(number)]
            with self.subTest(seed=seed, wanted=wanted):
                placed = labels.spread(wanted, 8, 0, 100)
                order = sorted(range(number), key=wanted.__getitem__)
                for one, next_ in zip(order, order[1:]):
                    self.assertGreaterEqual(placed[next_] - placed[one], 8 - 1e-9)
                self.assertTrue(all(-1e-9 <= place <= 100 + 1e-9 for place in placed))
                # No other placing that keeps its distance is nearer.
                for _ in range(50):
                    size = random_.choice([0.1, 1, 10])
                    other = [place + random_.uniform(-size, size) for place in placed]
                    for one, next_ in zip(order, order[1:]):
                        other[next_] = max(other[next_], other[one] + 8)
                    if other[order[0]] >= 0 and other[order[-1]] <= 100:
                        self.assertGreaterEqual(cost(other, wanted), cost(placed, wanted) - 1e-6)

    def test_too_many_names_are_centred(self):
        placed = labels.spread([5.0] * 4, 10, 0, 10)
        self.assertEqual(sorted(placed), [-10, 0, 10, 20])

    def test_no_two_allocators_look_alike(self):
        names = [f"new-{i}" for i in range(150)] + list(sample_results.ALLOCATORS)
        styles = Styles(names)
        looks = {
            (line["color"], line["linestyle"], line["marker"])
            for line in map(styles.line, names)
        }
        self.assertEqual(len(looks), len(names))

    def test_an_allocator_looks_the_same_in_all_figures(self):
        self.assertEqual(Styles(["buddy"]).line("buddy"),
                         Styles(["other", "hybrid", "buddy"]).line("buddy"))

    def test_short_numbers(self):
        for value, text in ((0.25, "0.25"), (16, "16"), (8192, "8192"), (65536, "64Ki"),
                            (1 << 30, "1Gi"), (100000, "100K"), (10**13, "10T"), (1.5e6, "1.5M"), (0, "0")):
            self.assertEqual(canvas.short_number(value), text)


class CallsTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def refused(self, documents, message, *arguments):
        code, output = run(self.folder, documents, *arguments)
        self.assertEqual(code, 2, output)
        self.assertIn(message, output)
        self.assertNotIn("Traceback", output)
        self.assertFalse(list(self.folder.glob("out/*")))

    def test_files_that_are_no_results(self):
        good = sample_results.compare()
        self.refused({"a": "{\n oops"}, "a.json:2: is not JSON")
        self.refused({"a": "[]"}, "a.json: is no result of heapwood")
        self.refused({"a": {"schema": 1, "results": []}}, "is a report of 'heapwood build'")
        self.refused({"a": {**good, "kind": "tale"}}, "of an unknown kind")
        self.refused({"a": {**good, "kind": "replay"}}, "a.json: is damaged")
        self.refused({"a": {**good, "schema": 2}}, "has schema 2, and this script reads 1")
        self.refused({"good": good, "a": {**good, "schema": 0}}, "a.json: has schema 0")
        self.refused({"a": {**good, "cells": []}}, "nothing was measured")
        damaged = {key: value for key, value in good.items() if key != "cells"}
        self.refused({"a": damaged}, "a.json: is damaged")
        self.refused({"a": {**good, "cells": [{"scene": "x"}]}}, "a.json: is damaged")
        bench = sample_results.bench()
        self.refused({"a": {**bench, "series": []}}, "a.json: is damaged")

    def test_compressed(self):
        text = json.dumps(sample_results.compare()).encode()
        whole, cut, not_xz = (self.folder / f"{name}.json.xz" for name in ("whole", "cut", "not"))
        whole.write_bytes(lzma.compress(text))
        cut.write_bytes(lzma.compress(text)[:-40])
        not_xz.write_bytes(text)
        self.assertEqual(results.Result(whole).document, json.loads(text))
        self.assertEqual(results.Result(whole).stem, "whole")
        for path in (cut, not_xz):
            with self.assertRaisesRegex(results.ResultError, "is no whole .xz file"):
                results.Result(path)

    def test_wrong_calls(self):
        good = sample_results.compare()
        self.refused({"a": good}, "no format 'gif'", "--format", "gif")
        self.refused({}, "RESULT.json")
        self.refused({"a": good}, "cannot be read", str(self.folder / "missing.json"))
        (self.folder / "sub").mkdir()
        other = self.folder / "sub" / "a.json"
        other.write_text(json.dumps(good), encoding="utf-8")
        self.refused({"a": good}, "two results are called a", str(other))
        (self.folder / "out").write_text("a file", encoding="utf-8")
        code, output = run(self.folder, {"a": good})
        self.assertEqual(code, 2)
        self.assertIn("cannot be written", output)

    def test_one_pool_unfinished_and_without_figures(self):
        document = sample_results.compare(scenes=("x.obj",), pools=("20x",))
        document["complete"] = False
        cell = document["cells"][-1]
        cell["outcome"], cell["build"]["ms"], cell["build"]["slowdown"] = "unfinished", None, None
        bench = sample_results.bench(published=False)
        kept = ("oom", "ad.payload")
        for entry in bench["cells"]:
            if entry["series"] == "oom":
                entry["outcome"], entry["metrics"] = "out_of_pool", {}
        bench["series"] = [entry for entry in bench["series"] if entry["id"] in kept]
        # Of the payloads one is left.
        bench["cells"] = [c for c in bench["cells"] if c["series"] == "oom" or c["x"] == 64]
        bench["cells"] = [c for c in bench["cells"] if c["series"] in kept]
        code, _ = run(self.folder, {"c": document, "b": bench}, "--format", "svg")
        self.assertEqual(code, 0)
        self.assertFalse((self.folder / "out" / "c-pool-size.svg").exists())
        self.assertFalse((self.folder / "out" / "b-oom.svg").exists())
        words = [text for text, _, _ in texts(self.folder / "out" / "c-slowdown-20x.svg")]
        self.assertIn("unfinished", words)
        self.assertIn("Incomplete: not all cells were measured.", words)
        words = [text for text, _, _ in texts(self.folder / "out" / "b-ad-payload.svg")]
        self.assertIn("ad.payload; after Made up 2026, figure 1; payload, bytes: 64", words)
        self.assertEqual(words.count("hybrid"), 2)

    def test_names_are_no_formulas(self):
        scenes = ("$x_1$.obj", "$\\frac{$.obj")
        code, output = run(self.folder, {"c": sample_results.compare(scenes=scenes)})
        self.assertEqual(code, 0, output)
        words = [text for text, _, _ in texts(self.folder / "out" / "c-slowdown-200x.svg")]
        self.assertIn("$x_1$", words)
        self.assertIn("$\\frac{$", words)

    def test_as_a_program_and_twice_the_same_bytes(self):
        path = self.folder / "x.json"
        path.write_text(json.dumps(sample_results.compare(pools=("20x",))), encoding="utf-8")
        files = []
        for name in ("one", "two"):
            subprocess.run(
                [sys.executable, "-B", ROOT / "scripts" / "plot.py", path,
                 "--out", self.folder / name],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
            files.append([p.read_bytes() for p in sorted((self.folder / name).iterdir())])
        self.assertEqual(len(files[0]), 2)
        self.assertEqual(*files)


if __name__ == "__main__":
    unittest.main()
