"""`heapwood compare` with all allocators on two small scenes: JSON, tables and other forms."""

import copy
import csv
import io
import json
import re
import statistics
import unittest

from command_line import (
    BAD_INPUT, DONE, MODELS, OUT_OF_MEMORY, USAGE, allocators, compare, compared, folder, report,
)
from schemas import violations

KIND = "compare"
# The second pool is too small for atomicmalloc on both scenes, and smaller than cudamalloc's least.
SCENES = (MODELS / "cottage.obj", "gen:city:3000")
POOLS = ("200x", "8x")
NOT_FULL = ("atomicmalloc", "awmalloc", "fdgmalloc")
REPEAT = 3


def text_tables(text):
    """The tables of a terminal: title to {row label: [cells]}; cells have two blanks between."""
    tables = {}
    for block in text.split("\n\n"):
        title, *lines = block.splitlines()
        tables[title] = {cells[0]: cells[1:]
                         for cells in (re.split(r"  +", line.strip()) for line in lines)}
    return tables


def markdown_tables(text):
    tables = {}
    for block in text.split("### ")[1:]:
        title, *lines = block.splitlines()
        rows = [[cell.strip().replace("\\*", "STAR").replace("**", "") for cell in line[1:-1].split("|")]
                for line in lines if line.startswith("|") and "---" not in line]
        tables[title] = {row[0].replace("STAR", "*"): row[1:] for row in rows}
    return tables


def latex_tables(text):
    tables = {}
    for block in text.split("\\begin{table}")[1:]:
        title = re.search(r"\\caption\{(.*)\}\n", block)[1].replace("\\%", "%").replace("\\_", "_")
        rows = [line.removesuffix(" \\\\").split(" & ") for line in block.splitlines()
                if line.endswith("\\\\")]
        tables[title] = {row[0]: [re.sub(r"\\textbf\{(.*)\}", r"\1", cell) for cell in row[1:]]
                         for row in rows}
    return tables


def size(text):
    """Bytes of "1.5 KiB", and how exactly it says so."""
    number, unit = text.split()
    factor = 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)
    return float(number) * factor, (0.06 if "." in number else 0.6) * factor


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = allocators()
        # One thread: with more it depends on the schedule what a small pool is enough for.
        arguments = (*SCENES, "--pool", ",".join(POOLS), "--repeat", REPEAT, "--threads", 1)
        with folder() as place:
            cls.result = compare(*arguments, "--json", place / "out.json")
            cls.left = sorted(path.name for path in place.iterdir())
            cls.found = json.loads((place / "out.json").read_text())
        cls.cells = {(cell["scene"], cell["pool"], cell["build"]["allocator"]): cell
                     for cell in cls.found["cells"]}

    def cell(self, scene, pool, allocator):
        return self.cells[str(scene), pool, allocator]

    def test_ends_with_what_went_wrong(self):
        self.assertEqual(self.result.returncode, OUT_OF_MEMORY, self.result.stderr)
        self.assertRegex(self.result.stderr, r"^heapwood: error: \d+ of \d+ cells failed; ")
        self.assertEqual(self.result.stderr.count("\n"), 1, "no progress into a file")
        self.assertEqual(self.left, ["out.json"], "what was noted meanwhile is gone")

    def test_conforms(self):
        self.assertEqual(violations(self.found, KIND), [])

    def test_the_check_can_fail(self):
        for path, value in (("schema", 2), ("kind", "bench"), ("complete", 1), ("pools", []),
                            ("cells", []), ("provenance", {}), ("allocators", [{}])):
            self.assertNotEqual(violations({**self.found, path: value}, KIND), [])
        for path, value in (("outcome", "fine"), ("fastest_full", None), ("pool", 200),
                            ("build", {}), ("more", 1)):
            wrong = copy.deepcopy(self.found)
            wrong["cells"][0][path] = value
            self.assertNotEqual(violations(wrong, KIND), [], path)

    def test_every_cell_is_there_once_and_in_order(self):
        self.assertTrue(self.found["complete"])
        self.assertEqual(list(self.cells), [(str(scene), pool, name) for scene in SCENES
                                            for pool in POOLS for name in self.names])
        self.assertEqual(len(self.found["cells"]), len(self.cells))
        self.assertEqual([entry["name"] for entry in self.found["allocators"]], self.names)
        self.assertEqual(self.found["pools"], list(POOLS))

    def test_figures_are_those_of_build(self):
        for scene in SCENES:
            built = report(scene, "-a", "all", "--repeat", 1, "--threads", 1, "--pool", POOLS[0])
            described = next(s for s in self.found["scenes"] if s["path"] == str(scene))
            self.assertEqual(described["digest"], built["provenance"]["scene_digest"])
            self.assertEqual({key: described[key] for key in built["scene"]}, built["scene"])
            for result in built["results"]:
                cell = self.cell(scene, POOLS[0], result["build"]["allocator"])
                if result["outcome"] != "done":  # cudamalloc has a least pool
                    self.assertEqual(cell["outcome"], result["outcome"])
                    continue
                for key in ("requests", "frees", "mean_bytes", "histogram"):
                    self.assertEqual(cell["allocations"][key], result["allocations"][key])
                self.assertEqual(cell["tree"], result["tree"])
                for key in ("pool_bytes", "pool_multiple", "leaked_bytes", "full_allocator"):
                    self.assertEqual(cell["build"][key], result["build"][key])
                # Frames are of build alone.
                self.assertEqual(set(cell), set(result) - {"frames"} |
                                 {"scene", "pool", "fastest_full", "baseline_pool"})

    def test_times(self):
        done = [cell for cell in self.found["cells"] if cell["outcome"] == "done"]
        self.assertGreater(len(done), len(self.cells) / 2)
        for cell in done:
            samples = cell["build"]["ms"]["samples"]
            self.assertEqual(len(samples), REPEAT)
            self.assertEqual(cell["build"]["ms"]["median"], statistics.median(samples))
            self.assertEqual(cell["baseline_pool"], POOLS[0], "8x is too small for atomicmalloc")
            base = self.cell(cell["scene"], POOLS[0], "atomicmalloc")["build"]["ms"]["samples"]
            self.assertAlmostEqual(cell["build"]["slowdown"],
                                   statistics.median(samples) / statistics.median(base), 9)

    def test_fastest(self):
        for scene in SCENES:
            for pool in POOLS:
                times = {name: self.cell(scene, pool, name)["build"]["ms"]["median"]
                         for name in self.names
                         if self.cell(scene, pool, name)["outcome"] == "done"
                         and name not in NOT_FULL}
                self.assertEqual([name for name in self.names
                                  if self.cell(scene, pool, name)["fastest_full"]],
                                 [min(times, key=times.get)])

    def test_failures(self):
        for scene in SCENES:
            cell = self.cell(scene, "8x", "atomicmalloc")
            self.assertEqual(cell["outcome"], "pool_exhausted")
            self.assertIn("has no room for a request", cell["message"])
            self.assertIsNone(cell["tree"])
            self.assertIsNone(cell["build"]["slowdown"])

    def check_tables(self, tables, mark):
        """The tables against the JSON, by figures computed here."""
        names = [re.sub(r"\.obj$", "", str(scene).rsplit("/", 1)[-1]) for scene in SCENES]
        rows = tables["Scenes"]
        for scene, name in zip(SCENES, names):
            cell = self.cell(scene, POOLS[0], "cmalloc")
            self.assertEqual(rows[name][1], f"{cell['tree']['references_per_triangle']:.3f}")
            self.assertEqual(rows[name][2], f"{cell['allocations']['requests']:,}")
            self.assertEqual(rows[name][3], f"{cell['allocations']['mean_bytes']:.1f}")
            self.assertEqual(rows[name][4], f"{cell['allocations']['deviation_bytes']:.1f}")
            self.assertEqual(rows[name][7], cell["tree"]["digest"])
        for pool in POOLS:
            def table(title):
                found = tables[f"Pool {pool}: {title}"]
                self.assertEqual(list(found.values())[0], names)
                return found
            times = table("T_build of atomicmalloc in ms, slowdown of the others")
            after = table("fragmentation after the build in %, internal / external")
            peaks = table("fragmentation at the peak in %, internal / external")
            allocated = table("allocated of the pool at the peak")
            pools = table("pool and side tables")
            for allocator in self.names:
                label = allocator + ("*" if allocator in NOT_FULL else "")
                for i, scene in enumerate(SCENES):
                    cell = self.cell(scene, pool, allocator)
                    if cell["outcome"] != "done":
                        wanted = {"pool_exhausted": "out of pool"}.get(cell["outcome"],
                                                                       cell["outcome"])
                        for one in (times, after, peaks, allocated, pools):
                            self.assertEqual(one[label][i], wanted)
                        continue
                    samples = cell["build"]["ms"]["samples"]
                    median = statistics.median(samples)
                    base = statistics.median(
                        self.cell(scene, POOLS[0], "atomicmalloc")["build"]["ms"]["samples"])
                    wanted = (f"{median:.3f} ms" if allocator == "atomicmalloc" else
                              f"{median / base:.2f}x" + ("'" if pool == "8x" else ""))
                    # Of three to five samples.
                    percent = 50 * (max(samples) - min(samples)) / median
                    wanted += f" ±{percent:.{0 if percent >= 10 else 1}f}%"
                    if cell["fastest_full"]:
                        wanted = mark.format(wanted)
                    self.assertEqual(times[label][i], wanted)
                    self.check_memory(cell, after[label][i], peaks[label][i], allocated[label][i],
                                      pools[label][i])

    def check_memory(self, cell, after, peak, allocated, pool):
        def per_cent(figures):
            return " / ".join("unknown" if figures is None or figures[key] is None
                              else f"{100 * figures[key]:.1f}" for key in ("internal", "external"))
        frag = cell["fragmentation"]
        self.assertEqual(after, per_cent(frag))
        self.assertEqual(peak, per_cent(frag["peak"]))
        if frag["peak"] is None:
            self.assertEqual(allocated, "unknown")
        else:
            value, off = size(allocated)
            self.assertLessEqual(abs(value - frag["peak"]["allocated_bytes"]), off)
        for text, key in zip(pool.split(" + "), ("pool_bytes", "overhead_bytes")):
            value, off = size(text)
            self.assertLessEqual(abs(value - cell["build"][key]), off)

    def test_tables_agree_with_json(self):
        self.check_tables(text_tables(self.result.stdout), "[{}]")

    def test_marks_are_explained(self):
        for line in ("\n': over atomicmalloc with another pool",
                     "\n* not a full allocator: ",
                     "\nBrackets or bold: of full allocators, the scene's least median."):
            self.assertIn(line, self.result.stdout)
        self.assertIn("gen:city:3000, pool 8x, atomicmalloc: the pool of ", self.result.stdout)


class OtherForms(unittest.TestCase):
    ARGUMENTS = (MODELS / "gem.obj", "--repeat", 1, "--threads", 1, "-a", "atomicmalloc,cmalloc,hybrid")

    def test_documents_have_the_tables_of_the_terminal(self):
        text = text_tables(compare(*self.ARGUMENTS).stdout)
        markdown = markdown_tables(compare(*self.ARGUMENTS, "--markdown").stdout)
        latex = latex_tables(compare(*self.ARGUMENTS, "--latex").stdout)
        for tables in (markdown, latex):
            for title, rows in text.items():
                if "Pool" not in title:
                    continue
                self.assertEqual(list(tables[title]), list(rows))
                # Times differ from run to run.
                if "T_build" not in title and "peak" not in title:
                    self.assertEqual(tables[title], rows)

    def test_csv_agrees_with_json(self):
        with folder() as place:
            result = compare(*self.ARGUMENTS, "--pool", "200x,20x", "--csv",
                             "--json", place / "out.json")
            found = json.loads((place / "out.json").read_text())
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual(len(rows), 6)
        for row, cell in zip(rows, found["cells"]):
            self.assertEqual((row["scene"], row["pool"], row["allocator"], row["outcome"]),
                             (cell["scene"], cell["pool"], cell["build"]["allocator"], "done"))
            self.assertEqual(float(row["ms_median"]), cell["build"]["ms"]["median"])
            self.assertEqual(float(row["slowdown"]), cell["build"]["slowdown"])
            self.assertEqual(row["fastest_full"] == "true", cell["fastest_full"])
            self.assertEqual(row["digest"], cell["tree"]["digest"])

    def test_the_reference_method_takes_part(self):
        found = compared(MODELS / "gem.obj", "--repeat", 1, "-a", "atomicmalloc", "-m",
                         "single,levels")
        self.assertEqual([entry["name"] for entry in found["allocators"]],
                         ["atomicmalloc", "levels"])
        single, levels = found["cells"]
        self.assertEqual(single["tree"]["digest"], levels["tree"]["digest"])
        self.assertIsNone(levels["allocations"])
        self.assertIsNotNone(levels["build"]["slowdown"])
        self.assertFalse(levels["fastest_full"])

    def test_minimal_pools(self):
        # The search is from the first pool that is enough, and not repeated from another.
        with folder() as place:
            arguments = (MODELS / "gem.obj", "--repeat", 1, "-a", "atomicmalloc,cmalloc", "--threads",
                         1, "--pool", "4x,200x,100x", "--minimal-pool", "--json", place / "out.json")
            text = compare(*arguments).stdout
            cells = json.loads((place / "out.json").read_text())["cells"]
        for name, wanted in (("atomicmalloc", [None, 0, 0]), ("cmalloc", [0, 0, 0])):
            found = [cell["build"]["minimal_pool_bytes"] for cell in cells
                     if cell["build"]["allocator"] == name]
            self.assertEqual(found, [None if one is None else found[1] for one in wanted])
            # One thread needs the same every time.
            build = ("-a", name, "--threads", 1, "--no-statistics")
            report(MODELS / "gem.obj", *build, "--pool", f"{found[1]}B")
            below = found[1] * 97 // 100
            report(MODELS / "gem.obj", *build, "--pool", f"{below}B", code=OUT_OF_MEMORY)
            triangles = 62
            row = text_tables(text)["Minimal pool"][name + ("*" if name[0] == "a" else "")][0]
            self.assertEqual(row.split(", ")[1], f"{found[1] / (32 * triangles):.2f}x")

    def test_no_statistics(self):
        found = compared(MODELS / "gem.obj", "--repeat", 2, "-a", "cmalloc", "--no-statistics",
                         "--verify")
        self.assertEqual(violations(found, KIND), [])
        self.assertIsNone(found["cells"][0]["allocations"])
        self.assertTrue(found["cells"][0]["tree"]["verified"])

    def test_configuration_reaches_the_workers(self):
        for arguments in (["--preset", "paper", "--leaf-limit", 4], ["--no-clip"]):
            tree = report(MODELS / "gem.obj", *arguments)["results"][0]["tree"]
            found = compared(MODELS / "gem.obj", "--repeat", 1, "-a", "cmalloc", *arguments,
                             "--threads", 3)
            self.assertEqual(found["cells"][0]["tree"], tree)
            self.assertEqual(found["cells"][0]["build"]["warps"], 3)

    def test_specimens_only_if_named(self):
        names = compared(MODELS / "gem.obj", "--repeat", 1, "--no-statistics", "--warm-up", 0)
        self.assertEqual([entry["name"] for entry in names["allocators"]], allocators())
        named = compared(MODELS / "gem.obj", "--repeat", 1, "-a", "cmalloc-published")
        self.assertEqual(named["cells"][0]["build"]["allocator"], "cmalloc-published")

    def test_default_pool(self):
        found = compared(MODELS / "gem.obj", "--repeat", 1, "-a", "cudamalloc,cmalloc")
        self.assertEqual(found["pools"], ["default"])
        self.assertEqual([cell["build"]["pool_bytes"] for cell in found["cells"]][0], 1 << 20)
        self.assertEqual(found["cells"][1]["build"]["pool_multiple"], 200)

    def test_doubles_count_once(self):
        found = compared(MODELS / "gem.obj", MODELS / "gem.obj", "--repeat", 1, "-a",
                         "cmalloc,cmalloc", "--pool", "20x,20.0x")
        self.assertEqual(len(found["cells"]), 1)


class Mistakes(unittest.TestCase):
    GEM = MODELS / "gem.obj"

    def check(self, code, words, *arguments):
        with self.subTest(arguments=arguments), folder() as place:
            result = compare(*arguments, "--json", place / "out.json")
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"^heapwood: error: ")
            for word in words:
                self.assertIn(word, result.stderr)
            self.assertEqual(list(place.iterdir()), [], "nothing is left behind")

    def test_usage(self):
        self.check(USAGE, ["SCENE is required"])
        self.check(USAGE, ["'cmaloc'", "did you mean 'cmalloc'?"], self.GEM, "-a", "cmaloc")
        for pool in ("0x", "20", "20x,abc", "20x,0MiB"):
            self.check(USAGE, ["--pool"], self.GEM, "--pool", pool)
        self.check(USAGE, ["no machine"], self.GEM, "--pool", "20x,99999999999999x")
        for limit in ("0", "-1", "nan", "soon"):
            self.check(USAGE, ["--time-limit"], self.GEM, f"--time-limit={limit}")
        self.check(USAGE, ["--csv", "--latex"], self.GEM, "--csv", "--latex")
        self.check(USAGE, ["large_limit"], self.GEM, "--large-limit", 10)
        self.check(USAGE, ["no/such/journal"], self.GEM, "--resume", "no/such/journal")

    def test_json_alone(self):
        result = compare(self.GEM, "--json", "-", "--latex")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("--json - excludes --latex", result.stderr)

    def test_scenes(self):
        self.check(BAD_INPUT, ["missing.obj: ", "No such file"], self.GEM, "missing.obj")
        with folder() as place:
            broken = place / "broken.obj"
            broken.write_text("v 0 0 0\nf 1 2 3\n")
            self.check(BAD_INPUT, ["broken.obj:2: "], broken, self.GEM)


if __name__ == "__main__":
    unittest.main()
