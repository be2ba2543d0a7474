"""The page of --html, opened and clicked in a browser."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import browser
import command_line
from page_document import document, line, wide_document

MAKER = os.environ.get("HEAPWOOD_TEST_PAGE_MAKER", "heapwood_page_maker")
TAB, ENTER, SPACE = "\ue004", "\ue007", " "

# The column with that heading of a section's first table, as its rows stand.
COLUMN = """
    const [section, heading] = arguments;
    const table = document.querySelector(section + ' table');
    const index = [...table.tHead.rows[0].cells].findIndex(c => c.textContent === heading);
    return [...table.tBodies[0].rows].map(row => row.cells[index].textContent);
"""
DATA = "return JSON.parse(document.getElementById('results').textContent).data"
CONTRAST = """
    const shown = getComputedStyle(document.querySelector(arguments[0]));
    const paper = getComputedStyle(document.body).backgroundColor;
    const light = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const [a, b] = [light(shown.color), light(paper)];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), b];
"""


def heading(section, number):
    """The selector of a heading's button; `number` counts from 1."""
    return f"{section} table thead th:nth-child({number}) button"


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        cls.document = document()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.browser = browser.Browser().__enter__()
        cls.addClassCleanup(cls.browser.__exit__)

    def setUp(self):
        self.browser.media(prefers_color_scheme="light")
        self.show(self.document)

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])

    def show(self, shown):
        """Makes the page of the document and opens it."""
        source, page = self.folder / "document.json", self.folder / "page.html"
        source.write_text(json.dumps(shown), encoding="utf-8")
        with open(page, "wb") as out:
            subprocess.run([MAKER, source], stdout=out, check=True)
        self.browser.open(page)

    def column(self, section, title):
        return self.browser.run(COLUMN, section, title)

    def test_tables_have_the_results(self):
        self.assertEqual(self.column("#scenes", "scene"), ["bunny", "a & <b>"])
        self.assertEqual(self.column("#scenes", "N_tris"), ["69,451", "138,902"])
        self.assertEqual(self.column("#times", "bunny"),
                         ["1.00x", "20.00x", "1.90x", "2.20x", "2.50x", "hang"])
        self.assertEqual(self.column("#all-figures", "ms"), ["0.8", "1"])
        best = self.browser.run("return [...document.querySelectorAll('#times td.best')]"
                                ".map(cell => cell.textContent)")
        self.assertEqual(best, ["2.20x"])
        why = self.browser.run("return document.querySelector('#times td.failed').title")
        self.assertEqual(why, "the process </script> & so on")
        notes = self.browser.run("return [...document.querySelectorAll('p.note')]"
                                 ".map(note => note.textContent)")
        self.assertIn("* a <mark>", notes)
        self.assertEqual(self.browser.run("return document.title"), "heapwood sample")

    def test_nothing_is_fetched(self):
        self.assertEqual(self.browser.run("return performance.getEntriesByType('resource')"), [])

    def test_a_click_sorts_and_another_the_other_way(self):
        def sorted_as():
            return self.browser.run("return [...document.querySelectorAll('#times th')]"
                                    ".map(th => th.getAttribute('aria-sort')).filter(Boolean)")

        self.browser.click(heading("#times", 2))
        self.assertEqual(self.column("#times", "bunny"),
                         ["1.00x", "1.90x", "2.20x", "2.50x", "20.00x", "hang"])
        self.assertEqual(sorted_as(), ["ascending"])
        self.browser.click(heading("#times", 2))
        self.assertEqual(self.column("#times", "bunny"),
                         ["20.00x", "2.50x", "2.20x", "1.90x", "1.00x", "hang"])
        self.assertEqual(sorted_as(), ["descending"])
        # Whole rows move.
        self.assertEqual(self.column("#times", "allocator"),
                         ["cudamalloc", "buddy", "hybrid", "cmalloc", "atomicmalloc*", "hung"])
        # Another heading, of words; the other tables stay.
        self.browser.click(heading("#times", 1))
        self.assertEqual(self.column("#times", "allocator")[:2], ["atomicmalloc*", "buddy"])
        self.assertEqual(sorted_as(), ["ascending"])
        self.assertEqual(self.column("#scenes", "scene"), ["bunny", "a & <b>"])

    def test_the_keyboard_sorts(self):
        for _ in range(60):
            self.browser.press(TAB)
            where = "return document.activeElement.closest('#scenes') !== null && " \
                    "document.activeElement.textContent"
            if self.browser.run(where) == "scene":
                break
        else:
            self.fail("Tab does not reach the heading")
        outline = "return getComputedStyle(document.activeElement).outlineStyle"
        self.assertEqual(self.browser.run(outline), "solid")
        self.browser.press(ENTER)
        self.assertEqual(self.column("#scenes", "scene"), ["a & <b>", "bunny"])
        self.browser.press(SPACE)
        self.assertEqual(self.column("#scenes", "scene"), ["bunny", "a & <b>"])

    def test_bars_are_as_long_as_their_logarithms(self):
        bars = dict(self.browser.run(
            "return [...document.querySelector('#times .panel').querySelectorAll('rect')]"
            ".map(bar => [bar.textContent, bar.getBBox().width])"))
        one = bars["cudamalloc: 20.00x"] / math.log(20)
        for name, factor in (("cmalloc", 1.9), ("hybrid", 2.2), ("buddy", 2.5)):
            width = bars[f"{name}: {factor:.2f}x"]
            self.assertAlmostEqual(width / math.log(factor), one, places=3)

    def test_times_without_a_reference_are_points(self):
        shown = document()
        shown["plots"][0].update(base=None, y=" ms")
        self.show(shown)
        points = "return document.querySelectorAll('#times .panel svg circle').length"
        self.assertEqual(self.browser.run(points), 5)

    def test_lines(self):
        panel = "const panel = document.querySelectorAll('#times .panel')[1]; return "
        lines = self.browser.run(panel + "[...panel.querySelectorAll('.line')]"
                                         ".map(line => line.points.length)")
        self.assertEqual(lines, [2] * 5)
        # Two points are nearly at one place: one tick all the same.
        ticks = self.browser.run(panel + "[...panel.querySelectorAll('text.small')]"
                                         ".filter(t => t.getAttribute('text-anchor') === 'middle')"
                                         ".map(t => t.textContent)")
        self.assertEqual(ticks, ["200", "20.2", "pool, logarithmic"])
        shown = document()
        shown["plots"][1]["lines"] = [line(f"allocator-{i}", (20, 1 + i / 9, ""), (200, 2 + i / 9, ""))
                                      for i in range(22)]
        self.show(shown)
        boxes = self.browser.run(
            panel + "[...panel.querySelectorAll('text:not(.small)')].map(t => t.getBBox()).map(b =>"
            "[b.y, b.y + b.height, b.x + b.width <= panel.querySelector('svg').viewBox.baseVal.width,"
            " b.y >= 0 && b.y + b.height <= panel.querySelector('svg').viewBox.baseVal.height])")
        self.assertEqual(len(boxes), 22)
        self.assertTrue(all(wide and high for _, _, wide, high in boxes))
        boxes.sort()
        for above, below in zip(boxes, boxes[1:]):
            self.assertGreaterEqual(below[0], above[1] - 1)
        looks = self.browser.run(
            panel + "[...panel.querySelectorAll('.line')].map(line => [line.getAttribute('stroke'),"
            "line.getAttribute('stroke-dasharray'), line.nextSibling.getAttribute('d')].join())")
        self.assertEqual(len(set(looks)), 22)

    def test_pools_have_a_pixel_a_cell(self):
        pixels = self.browser.run(
            "return [...document.querySelectorAll('#scenes .pool canvas')].map(canvas => ["
            "canvas.width, canvas.height, [...canvas.getContext('2d')"
            ".getImageData(0, 0, 64, 3).data]])")
        self.assertEqual([(width, height) for width, height, _ in pixels], [(64, 3), (64, 3)])
        peak, end = ([tuple(data[4 * i:4 * i + 4]) for i in range(192)] for _, _, data in pixels)
        free, nothing = peak[3], (0, 0, 0, 0)
        self.assertEqual(end, [free] * 150 + [nothing] * 42)
        self.assertEqual(peak[:150], peak[:5] * 30)
        # Both block sizes, the same size in a cell that is less full, free, and no region.
        self.assertEqual(len(set(peak[:150])), 5)
        legend = self.browser.run("return [...document.querySelectorAll('#scenes .legend li')]"
                                  ".map(entry => entry.textContent)")
        self.assertEqual(legend, ["blocks from 16 B", "blocks from 128 B", "free", "no region"])
        # The pointer over the second cell of the upper row.
        hint = self.browser.run(
            "const canvas = document.querySelector('#scenes .pool canvas');"
            "const width = canvas.clientWidth / 64;"
            "const box = canvas.getBoundingClientRect();"
            "canvas.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,"
            "clientX: box.left + canvas.clientLeft + 1.5 * width,"
            "clientY: box.top + canvas.clientTop + 1}));"
            "return canvas.title")
        self.assertEqual(hint, "blocks from 16 B, about 100 % full")

    def test_light_dark_and_paper(self):
        papers = []
        for scheme in ("light", "dark"):
            self.browser.media(prefers_color_scheme=scheme)
            for selector in ("h1", "#where", "td", ".note", ".best", ".failed", "nav a", "dt"):
                contrast, paper = self.browser.run(CONTRAST, selector)
                self.assertGreater(contrast, 4.5, (scheme, selector))
            papers.append(paper)
        self.assertGreater(papers[0], 0.9)
        self.assertLess(papers[1], 0.1)
        self.browser.media(media="print", prefers_color_scheme="dark")
        shown = "return getComputedStyle(document.querySelector(arguments[0])).display"
        self.assertEqual(self.browser.run(shown, "nav"), "none")
        self.assertEqual(self.browser.run(CONTRAST, "td")[1], 1)
        self.assertEqual(self.browser.printed()[:5], b"%PDF-")

    def test_a_narrow_window_scrolls_tables_not_the_page(self):
        self.addCleanup(self.browser.width, None)
        for shown in (self.document, wide_document()):
            self.show(shown)
            for width in (500, 400, 320):
                self.browser.width(width)
                page, window = self.browser.run(
                    "return [document.documentElement.scrollWidth, innerWidth]")
                self.assertEqual(window, width)
                self.assertLessEqual(page, width)

    def test_a_mark_says_that_a_table_goes_on(self):
        self.addCleanup(self.browser.width, None)
        marks = ("return new Promise(done => requestAnimationFrame(() => setTimeout(() => done("
                 "['#scenes', '#all-figures'].map(id => document.querySelector(id + ' .frame')"
                 ".classList.contains('cut'))))))")
        self.show(wide_document())
        self.browser.width(800)
        self.assertEqual(self.browser.run(marks), [False, True])
        self.browser.run("document.querySelector('#all-figures .scroll').scrollLeft = 1e6")
        self.assertEqual(self.browser.run(marks), [False, False])

    def test_paper_has_all_columns(self):
        self.addCleanup(self.browser.width, None)
        self.show(wide_document())
        self.browser.click(heading("#all-figures", 1))  # sorts, which paper shows, too
        self.browser.media(media="print")
        self.browser.width(1032)  # A4 landscape less its margins
        tables = self.browser.run(
            "return [...document.querySelectorAll('table')].filter(t => t.offsetParent !== null)"
            ".map(t => [t.getBoundingClientRect().right, [...t.tHead.rows[0].cells].map("
            "c => c.textContent), [...t.tBodies[0].rows].map(row => row.cells[0].textContent)])")
        for right, _, _ in tables:
            self.assertLessEqual(right, 1032)
        parts = tables[3:]
        self.assertGreater(len(parts), 3)
        self.assertEqual([name for _, names, _ in parts for name in names[1:]],
                         [f"figure_number_{i}" for i in range(1, 40)])
        for _, names, rows in parts:
            self.assertEqual((names[0], rows), ("scene", ["a", "b"]))

    def test_the_title_names_the_scenes(self):
        self.show(wide_document())
        self.assertEqual(self.browser.run("return [document.title, document.querySelector('h1').textContent]"),
                         ["heapwood sample: one.obj, two.obj, three.obj and 2 more"] * 2)

    def test_provenance_and_the_results_themselves(self):
        where = self.browser.run("return document.getElementById('where').textContent")
        self.assertIn("Made-up GPU · heapwood 0.1.0 (0123abc), Release", where)
        shown = self.browser.run("return document.querySelector('dl').innerText")
        for text in ("heapwood sample", "GNU 12.2.0", "leaf limit"):
            self.assertIn(text, shown)
        self.browser.run("URL.createObjectURL = blob => {"
                         "blob.text().then(text => { window.saved = text; }); return '#'; };")
        self.browser.click("#save")
        for _ in range(100):
            saved = self.browser.run("return window.saved || null")
            if saved:
                break
            time.sleep(0.02)
        self.assertEqual(json.loads(saved), self.document["data"])

    def test_warnings_stand_out(self):
        warning = "return [...document.querySelectorAll('.warning')].map(p => p.textContent)"
        self.assertEqual(self.browser.run(warning), [])
        shown = document()
        shown["remarks"].append({"text": "NOT COMPLETE <", "warning": True})
        self.show(shown)
        self.assertEqual(self.browser.run(warning), ["NOT COMPLETE <"])


class CommandTest(unittest.TestCase):
    """From the command to the page."""

    def test_a_comparison_as_a_page(self):
        with command_line.folder() as place, browser.Browser() as viewer:
            page, results = place / "page.html", place / "results.json"
            scenes = (command_line.MODELS / "cottage.obj", "gen:city:300")
            ran = command_line.compare(*scenes, "-a", "atomicmalloc,hybrid", "--pool", "200x,8x",
                                       "--repeat", 2, "--html", page, "--json", results)
            # With 8x atomicmalloc runs out of its pool.
            self.assertEqual(ran.returncode, command_line.OUT_OF_MEMORY, ran.stderr)
            self.assertEqual(sorted(place.iterdir()), [page, results])
            viewer.open(page)
            self.assertEqual(viewer.complaints(), [])
            shown = viewer.run(DATA)
            self.assertEqual(shown, json.loads(results.read_text(encoding="utf-8")))
            sections = {pool: f"#pool-{pool}-t-build-of-atomicmalloc-in-ms-slowdown-of-the-others"
                        for pool in ("200x", "8x")}
            self.assertEqual(viewer.run(COLUMN, sections["8x"], "cottage")[0], "out of pool")
            for cell in shown["cells"]:
                if cell["outcome"] != "done":
                    continue
                section, scene = sections[cell["pool"]], pathlib.Path(cell["scene"]).stem
                row = ["atomicmalloc", "hybrid"].index(cell["build"]["allocator"])
                text = viewer.run(COLUMN, section, scene)[row]
                wanted = (cell["build"]["ms"]["median"] if " ms" in text
                          else cell["build"]["slowdown"])
                self.assertAlmostEqual(float(re.match(r"[\d.]+", text)[0]), wanted,
                                       delta=0.006 * max(1, wanted))

    def test_every_verb_has_a_page(self):
        with command_line.folder() as place, browser.Browser() as viewer:
            trace = place / "x.trace"
            cpu = ("--device", "cpu", "-a", "hybrid")
            for number, (verb, section) in enumerate((
                (("build", "gen:city:300", *cpu, "--trace", trace), "#times"),
                (("replay", trace, *cpu), "#replay"),
                (("bench", "init", "alloc", "--quick", *cpu), "#bench"),
                (("list",), "#allocators"),
            )):
                page, results = place / f"{number}.html", place / f"{number}.json"
                ran = command_line.run(*verb, "--html", page, "--json", results)
                self.assertEqual(ran.returncode, command_line.DONE, ran.stderr)
                viewer.open(page)
                self.assertEqual(viewer.complaints(), [])
                self.assertEqual(viewer.run(DATA), json.loads(results.read_text(encoding="utf-8")))
                rows = viewer.run("return document.querySelectorAll(arguments[0] + ' tbody tr')"
                                  ".length", section)
                self.assertGreaterEqual(rows, 1, verb)

    def test_where_the_page_cannot_be(self):
        with command_line.folder() as place:
            for path, why in ((place / "none" / "x.html", "none/x.html"), ("-", "needs a file")):
                ran = command_line.compare("gen:city:300", "-a", "hybrid", "--html", path)
                self.assertEqual(ran.returncode, command_line.USAGE)
                self.assertIn(why, ran.stderr)
            self.assertEqual(list(place.iterdir()), [])
            # Turns are noted beside the page, and those of an earlier run are not lost.
            (place / "x.html.partial").write_text("turns", encoding="utf-8")
            ran = command_line.compare("gen:city:300", "-a", "hybrid", "--html", place / "x.html")
            self.assertEqual(ran.returncode, command_line.USAGE)
            self.assertIn(f"--resume {place}/x.html.partial", ran.stderr)


if __name__ == "__main__":
    if browser.missing():
        print(f"skipped: {browser.missing()}")
        sys.exit(77)
    unittest.main()
