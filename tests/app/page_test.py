"""The page of `heapwood compare --html`, opened and clicked in a browser."""

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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
import sample_results  # noqa: E402

MAKER = os.environ.get("HEAPWOOD_TEST_PAGE_MAKER", "heapwood_page_maker")
TAB, ENTER, SPACE = "\ue004", "\ue007", " "

# The column with that heading of a section's first table, as its rows stand.
COLUMN = """
    const [section, heading] = arguments;
    const table = document.querySelector(section + ' table');
    const index = [...table.tHead.rows[0].cells].findIndex(c => c.textContent === heading);
    return [...table.tBodies[0].rows].map(row => row.cells[index].textContent);
"""
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
        cls.results = sample_results.compare()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.browser = browser.Browser().__enter__()
        cls.addClassCleanup(cls.browser.__exit__)

    def setUp(self):
        self.browser.media(prefers_color_scheme="light")
        self.show(self.results)

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])

    def show(self, results):
        """Makes the page of the results and opens it."""
        source, page = self.folder / "results.json", self.folder / "page.html"
        source.write_text(json.dumps(results), encoding="utf-8")
        with open(page, "wb") as out:
            subprocess.run([MAKER, source], stdout=out, check=True)
        self.browser.open(page)

    def column(self, section, title):
        return self.browser.run(COLUMN, section, title)

    def test_tables_have_the_results(self):
        self.assertEqual(self.column("#scenes", "scene"), ["bunny", "a & <b>"])
        self.assertEqual(self.column("#scenes", "N_tris"), ["69,451", "138,902"])
        self.assertEqual(self.column("#scenes", "N_alloc"), ["128,000", "128,000"])
        self.assertEqual(self.column("#scenes", "SAH(1, 1.5)"), ["84.61", "84.61"])
        names = ["atomicmalloc*", "awmalloc*", "cudamalloc", "cmalloc", "hybrid", "buddy"]
        self.assertEqual(self.column("#pool-200x", "allocator"), names)
        self.assertEqual(self.column("#pool-200x", "bunny"),
                         ["0.800 ms", "1.30x", "20.0x", "1.90x", "2.20x", "2.50x"])
        self.assertEqual(self.column("#pool-200x", "a & <b>")[0], "1.600 ms")
        best = self.browser.run("return [...document.querySelectorAll('#pool-200x td.best')]"
                                ".map(cell => cell.textContent)")
        self.assertEqual(best, ["2.20x", "2.20x"])
        # At 20x the reference ran out, and its time is that with 200x.
        for scene in ("bunny", "a & <b>"):
            self.assertEqual(self.column("#pool-20x", scene),
                             ["out of pool", "1.30x'", "20.0x'", "hang", "2.20x'", "2.50x'"])
        caption = "return document.querySelector(arguments[0] + ' caption').textContent"
        self.assertIn("with another pool", self.browser.run(caption, "#pool-20x"))
        self.assertNotIn("with another pool", self.browser.run(caption, "#pool-200x"))
        why = self.browser.run("return document.querySelector('#pool-20x td.failed').title")
        self.assertEqual(why, "the pool of atomicmalloc </script> & so on")
        self.assertEqual(self.column("#registers", "published, uncoalesced"), ["16"] * 6)
        self.assertEqual(self.column("#registers", "coalesced"), ["–"] * 6)
        self.assertEqual(len(self.column("#all-cells", "median ms")), 24)
        self.assertEqual(len(self.column("#fragmentation-and-memory", "internal")), 20)

    def test_nothing_is_fetched(self):
        self.assertEqual(self.browser.run("return performance.getEntriesByType('resource')"), [])

    def test_a_click_sorts_and_another_the_other_way(self):
        def sorted_as():
            return self.browser.run("return [...document.querySelectorAll('#all-cells th')]"
                                    ".map(th => th.getAttribute('aria-sort')).filter(Boolean)")

        before = self.column("#all-cells", "median ms")
        times = sorted(float(text) for text in before if text != "–")
        self.assertNotEqual(before[:20], [f"{t:.3f}" for t in times])
        self.browser.click(heading("#all-cells", 5))
        after = self.column("#all-cells", "median ms")
        self.assertEqual([float(text) for text in after[:20]], times)
        self.assertEqual(after[20:], ["–"] * 4)
        self.assertEqual(sorted_as(), ["ascending"])
        self.browser.click(heading("#all-cells", 5))
        after = self.column("#all-cells", "median ms")
        self.assertEqual([float(text) for text in after[:20]], times[::-1])
        self.assertEqual(after[20:], ["–"] * 4)
        self.assertEqual(sorted_as(), ["descending"])
        # Whole rows move: the samples are still those of the time beside them.
        for median, samples in zip(after, self.column("#all-cells",
                                                      "samples, ms, or what went wrong")):
            if median != "–":
                self.assertIn(median, samples.split())
        # Another heading, of words; the other tables stay.
        self.browser.click(heading("#all-cells", 1))
        self.assertEqual(self.column("#all-cells", "scene"), ["a & <b>"] * 12 + ["bunny"] * 12)
        self.assertEqual(sorted_as(), ["ascending"])
        self.assertEqual(self.column("#scenes", "scene"), ["bunny", "a & <b>"])
        # The reference is among the slowdowns as what it is, 1x.
        self.browser.click(heading("#pool-200x", 2))
        self.assertEqual(self.column("#pool-200x", "bunny"),
                         ["0.800 ms", "1.30x", "1.90x", "2.20x", "2.50x", "20.0x"])

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
            "return [...document.querySelector('#pool-200x .panel').querySelectorAll('rect')]"
            ".map(bar => [bar.textContent, bar.getBBox().width])"))
        one = bars["cudamalloc: 20.0x"] / math.log(20)
        for name, factor in (("cmalloc", 1.9), ("hybrid", 2.2), ("buddy", 2.5)):
            width = bars[f"{name}: {factor:.2f}x"]
            self.assertAlmostEqual(width / math.log(factor), one, places=3)

    def test_times_where_there_is_no_reference(self):
        names = ("cmalloc", "hybrid", "levels")
        results = sample_results.compare(("a/x.obj", "b/x.obj"), allocators=names)
        for cell in results["cells"]:
            if cell["build"]["allocator"] == "levels":  # the reference method has no pool
                cell["build"]["pool_multiple"] = 0
        self.show(results)
        # The short names would be the same.
        self.assertEqual(self.column("#scenes", "scene"), ["a/x.obj", "b/x.obj"])
        self.assertEqual(self.column("#pool-20x", "a/x.obj"), ["hang", "1.040", "1.280"])
        self.assertEqual(self.column("#pool-20x", "b/x.obj"), ["hang", "2.080", "2.560"])
        points = "return document.querySelectorAll(arguments[0] + ' svg circle').length"
        self.assertEqual(self.browser.run(points, "#pool-20x"), 4)
        lines = "return document.querySelectorAll('#time-against-pool-size .line').length"
        self.assertEqual(self.browser.run(lines), 4)

    def test_lines_of_pool_size(self):
        lines = self.browser.run(
            "return [...document.querySelector('#time-against-pool-size svg')"
            ".querySelectorAll('.line')].map(line => line.points.length)")
        self.assertEqual(sorted(lines), [1, 1, 2, 2, 2, 2])  # two ran out of the small pool
        # One allocator had a little less than it was given: one tick all the same.
        ticks = self.browser.run("return [...document.querySelector('#time-against-pool-size svg')"
                                 ".querySelectorAll('text')].map(text => text.textContent)"
                                 ".filter(text => /^[\\d.]+x$/.test(text))")
        self.assertEqual(ticks, ["200x", "20x"])
        big = sample_results.compare(
            allocators=("atomicmalloc", *(f"allocator-{i}" for i in range(20)), "hybrid"))
        self.show(big)
        boxes = self.browser.run(
            "return [...document.querySelectorAll('#time-against-pool-size svg')].map(svg =>"
            "[...svg.querySelectorAll('text:not(.small)')].map(t => t.getBBox()).map(b =>"
            "[b.y, b.y + b.height, b.x + b.width <= svg.viewBox.baseVal.width,"
            " b.y >= 0 && b.y + b.height <= svg.viewBox.baseVal.height]))")
        self.assertEqual([len(panel) for panel in boxes], [22, 22])
        for panel in boxes:
            self.assertTrue(all(wide and high for _, _, wide, high in panel))
            panel.sort()
            for above, below in zip(panel, panel[1:]):
                self.assertGreaterEqual(below[0], above[1] - 1)
        looks = self.browser.run(
            "return [...document.querySelector('#time-against-pool-size svg')"
            ".querySelectorAll('.line')].map(line => [line.getAttribute('stroke'),"
            "line.getAttribute('stroke-dasharray'), line.nextSibling.getAttribute('d')].join())")
        self.assertEqual(len(set(looks)), 22)

    def test_light_dark_and_paper(self):
        papers = []
        for scheme in ("light", "dark"):
            self.browser.media(prefers_color_scheme=scheme)
            for selector in ("h1", "#where", "td", "caption", ".best", ".failed", "nav a", "dt"):
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
        self.browser.resize(500, 800)
        try:
            wider = "return document.documentElement.scrollWidth > innerWidth"
            self.assertFalse(self.browser.run(wider))
        finally:
            self.browser.resize(1400, 1000)

    def test_provenance_and_the_results_themselves(self):
        where = self.browser.run("return document.getElementById('where').textContent")
        self.assertIn("Made-up GPU · heapwood 0.1.0 (0123abc), Release", where)
        shown = self.browser.run("return document.querySelector('dl').innerText")
        for text in ("heapwood compare", "GNU 12.2.0", "leaf limit", "0123456789abcdef"):
            self.assertIn(text, shown)
        self.browser.run("URL.createObjectURL = blob => {"
                         "blob.text().then(text => { window.saved = text; }); return '#'; };")
        self.browser.click("#save")
        for _ in range(100):
            saved = self.browser.run("return window.saved || null")
            if saved:
                break
            time.sleep(0.02)
        self.assertEqual(json.loads(saved), self.results)

    def test_unfinished_results_and_a_single_cell(self):
        warning = "return [...document.querySelectorAll('.warning')].map(p => p.textContent)"
        self.assertEqual(self.browser.run(warning), [])
        results = sample_results.compare(("x.obj",), ("20x",), ("cmalloc",))
        results["complete"] = False
        results["cells"] = []
        self.show(results)
        self.assertEqual(self.browser.run(warning), ["Incomplete: not every cell was measured."])
        self.assertEqual(self.column("#pool-20x", "x"), ["unfinished"])
        self.assertEqual(self.column("#scenes", "N_alloc"), ["–"])
        self.show(sample_results.compare(("x.obj",), ("20x",), ("atomicmalloc",)))
        self.assertEqual(self.column("#pool-20x", "x"), ["0.800 ms"])


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
            shown = viewer.run("return JSON.parse(document.getElementById('results').textContent)")
            self.assertEqual(shown, json.loads(results.read_text(encoding="utf-8")))
            self.assertEqual(viewer.run(COLUMN, "#pool-8x", "cottage")[0], "out of pool")
            for cell in shown["cells"]:
                if cell["outcome"] != "done":
                    continue
                section, scene = f"#pool-{cell['pool']}", pathlib.Path(cell["scene"]).stem
                row = ["atomicmalloc", "hybrid"].index(cell["build"]["allocator"])
                text = viewer.run(COLUMN, section, scene)[row]
                wanted = (cell["build"]["ms"]["median"] if text.endswith("ms")
                          else cell["build"]["slowdown"])
                self.assertAlmostEqual(float(re.match(r"[\d.]+", text)[0]), wanted,
                                       delta=0.006 * max(1, wanted))

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
