"""`heapwood bench graph-init` and `graph-update`: mistakes, mishaps, graphs of files; see bench_test.py, too."""

import gzip
import random
import unittest

import bench_test
from bench_test import PATIENT, KIND, bench, report
from command_line import BAD_INPUT, DONE, USAGE, folder, run
from schemas import violations

BOTH = ("graph-init", "graph-update")


class Graphs(unittest.TestCase):
    check = bench_test.Mistakes.check
    faulty = bench_test.Faults.faulty

    def test_mistakes(self):
        self.check(["graph-update is for full allocators, and none of these is one"],
                   "graph-update", "-a", "atomicmalloc")
        self.check(["graph-update, churn are for full allocators"],
                   "churn", "graph-update", "-a", "atomicmalloc")
        self.check(["no test 'graph'"], "graph")
        self.check(["too small for any point of graph-init, graph-update", "larger --pool"],
                   "graph-init", "graph-update", "--pool", "256B")

    def test_arrays_that_overlap_are_no_figure(self):
        # Cells have 64 bytes; an array of a hub has more.
        errors, cells = self.faulty("graph-init", "graph-update", "-a", "good,revolves", code=5)
        for test in ("graph-init", "graph-update"):
            found = [outcome for (name, series, _), (outcome, _) in cells.items()
                     if name == "revolves" and series == f"{test}.rmat"]
            self.assertIn("corrupt", found)
            self.assertIn(f"{test}.rmat, revolves: blocks were overwritten", errors)

    def test_a_seed_makes_a_graph(self):
        def live(*seed):
            found = report("graph-init", "-a", "cmalloc", *seed, *PATIENT)
            return [cell["metrics"]["live"]["value"]["median"] for cell in found["cells"]
                    if cell["allocator"] == "cmalloc"]
        self.assertEqual(live(), live("--seed", 1))
        self.assertNotEqual(live(), live("--seed", 2))


def matrix(vertices, edges):
    """A Matrix Market file of these edges, vertices counted from 0."""
    entries = "".join(f"{u + 1} {v + 1}\n" for u, v in edges)
    return (f"%%MatrixMarket matrix coordinate pattern general\n% a graph\n"
            f"{vertices} {vertices} {len(edges)}\n{entries}")


def random_edges(seed, vertices=500, count=2000):
    """Some twice, some in both directions, some from a vertex to itself; and a hub."""
    dice = random.Random(seed)
    edges = [(dice.randrange(vertices), dice.randrange(vertices)) for _ in range(count)]
    return edges + [(7, v) for v in range(0, vertices, 2)]


def array_bytes(vertices, edges):
    """The bytes of the array of each vertex."""
    neighbours = [set() for _ in range(vertices)]
    for u, v in edges:
        if u != v:
            neighbours[u].add(v)
            neighbours[v].add(u)
    return [max(16, 1 << (4 * len(some) - 1).bit_length()) if some else 16 for some in neighbours]


def in_folder(test):
    """Calls the test with a new folder."""
    def called(self):
        with folder() as place:
            test(self, place)
    return called


class GraphsOfFiles(unittest.TestCase):
    check = bench_test.Mistakes.check
    faulty = bench_test.Faults.faulty

    @in_folder
    def test_takes_the_place_of_the_families(self, place):
        edges = random_edges(1)
        plain, packed = place / "some.mtx", place / "some.packed"
        plain.write_text(matrix(500, edges))
        packed.write_bytes(gzip.compress(matrix(500, edges).encode()))
        found = report(*BOTH, "-a", "cmalloc,halloc", "--graph", plain, *PATIENT)
        self.assertEqual(violations(found, KIND), [])
        sizes = array_bytes(500, edges)
        graph = found["provenance"]["graph"]
        self.assertEqual(graph["path"], str(plain))
        self.assertEqual(graph["vertices"], 500)
        self.assertEqual(graph["edges"], len({frozenset(edge) for edge in edges if len(set(edge)) == 2}))
        self.assertEqual(graph["array_bytes"], sum(sizes))
        self.assertEqual(max(sizes), 1 << (4 * graph["greatest_degree"] - 1).bit_length())
        self.assertEqual([series["id"] for series in found["series"]],
                         ["graph-init.file", "graph-update.file"])
        for series in found["series"]:
            self.assertIn("graph of some.mtx", series["title"])
        self.assertEqual({(cell["series"], cell["x"], cell["allocator"]) for cell in found["cells"]},
                         {("graph-init.file", 500, name)
                          for name in ("cmalloc", "halloc", "prefix-sum")} |
                         {("graph-update.file", x, name)
                          for x in (7, 500) for name in ("cmalloc", "halloc")})
        for cell in found["cells"]:
            self.assertEqual(cell["outcome"], "done", cell["message"])
            if cell["series"] == "graph-init.file" and cell["allocator"] != "prefix-sum":
                self.assertEqual(cell["counts"]["requests"], 500)
                self.assertAlmostEqual(cell["metrics"]["live"]["value"]["median"],
                                       100 * sum(sizes) / cell["parameters"]["pool_bytes"])
        shown = bench("graph-init", "-a", "cmalloc", "--graph", plain, *PATIENT).stdout
        self.assertIn(f"{plain}: 500 vertices, {graph['edges']:,} edges, greatest degree "
                      f"{graph['greatest_degree']}\n", shown)
        again = report("graph-init", "-a", "cmalloc", "--graph", packed, *PATIENT)
        self.assertEqual(again["provenance"]["graph"], {**graph, "path": str(packed)})

    @in_folder
    def test_small_and_dense_graphs_have_small_batches(self, place):
        file = place / "x.mtx"
        file.write_text(matrix(20, [(v, v + 1) for v in range(19)]))
        found = report("graph-update", "-a", "cmalloc", "--graph", file, *PATIENT)
        for cell in found["cells"]:
            self.assertEqual(cell["outcome"], "done", cell["message"])
            self.assertEqual(cell["parameters"]["edges"], (19 - 2) // 2)
        file.write_text(matrix(20, [(u, v) for u in range(20) for v in range(u)]))
        self.check([f"{file}: the vertices that a batch", "leave out graph-update"],
                   *BOTH, "--graph", file, code=BAD_INPUT)
        found = report("graph-init", "-a", "cmalloc", "--graph", file, *PATIENT)
        self.assertEqual({cell["outcome"] for cell in found["cells"]}, {"done"})

    @in_folder
    def test_arrays_that_overlap_are_no_figure(self, place):
        # Cells have 64 bytes; the hub's array has more.
        file = place / "x.mtx"
        file.write_text(matrix(500, random_edges(2)))
        errors, cells = self.faulty("graph-init", "-a", "good,revolves", "--graph", file, code=5)
        self.assertEqual(cells["revolves", "graph-init.file", 500][0], "corrupt")
        self.assertIn("graph-init.file, revolves: blocks were overwritten", errors)

    @in_folder
    def test_beside_sizes_of_a_trace(self, place):
        """Each test has its own file, and a process loads one after the other."""
        file, trace = place / "x.mtx", place / "x.trace"
        file.write_text(matrix(500, random_edges(3)))
        made = run("build", "gen:soup:200", "--device", "cpu", "-a", "cmalloc", "--trace", trace)
        self.assertEqual(made.returncode, DONE, made.stderr)
        arguments = ("graph-init", "churn", "-a", "cmalloc", "--graph", file, "--sizes", trace,
                     *PATIENT)
        found = report(*arguments)
        self.assertEqual(violations(found, KIND), [])
        self.assertEqual({cell["outcome"] for cell in found["cells"]}, {"done"})
        self.assertEqual(found["provenance"]["graph"]["vertices"], 500)

    @in_folder
    def test_a_run_has_one_graph(self, place):
        file, out, journal = place / "x.mtx", place / "out.json", place / "journal"
        arguments = ("graph-init", "-a", "cmalloc", "--graph", file, *PATIENT)
        file.write_text(matrix(500, random_edges(4)))
        result = bench(*arguments, "--json", out, "--resume", journal)
        self.assertEqual(result.returncode, DONE, result.stderr)
        # Other edges in a file of the same name.
        file.write_text(matrix(500, random_edges(5)))
        result = bench(*arguments, "--json", out, "--resume", journal)
        self.assertEqual(result.returncode, USAGE, result.stderr)
        self.assertIn("graph", result.stderr)
        # The same edges in another order are the same graph.
        file.write_text(matrix(500, random_edges(4)[::-1]))
        result = bench(*arguments, "--json", out, "--resume", journal)
        self.assertEqual(result.returncode, DONE, result.stderr)

    @in_folder
    def test_mistakes(self, place):
        file = place / "x.mtx"
        file.write_text(matrix(500, random_edges(6)))
        self.check(["--graph is for the tests graph-init and graph-update", "not among ad, churn"],
                   "ad", "churn", "--graph", file)
        self.check(["--graph: graphs are read from a file"], "graph-init", "--graph", "-")
        self.check(["the graph", "are the same file"],
                   "graph-init", "--graph", file, "--json", file)
        self.check(["too small for any point of graph-init", "larger --pool"],
                   "graph-init", "--graph", file, "--pool", "4KiB")
        for name, words in (("no-such-file", "no-such-file"), (__file__, f"{__file__}:1: the first")):
            self.check([words], "graph-init", "--graph", name, code=BAD_INPUT)
        for damage, words in (
            (lambda text: text.replace("matrix ", "", 1), ":1: the first line of a Matrix Market"),
            (lambda text: text.replace("500 500", "500 499", 1), ":3: the matrix of a graph is sq"),
            (lambda text: text.replace("500 500", "400 400", 1), " is out of range; they are from"),
            (lambda text: text.replace(" 2250\n", " 999999999999\n", 1), "it was cut off"),
            (lambda text: text.replace(" 2250\n", " 2249\n", 1), ":2253: more entries than"),
            (lambda text: text[:-30], "it was cut off"),
            (lambda text: text + "1 nan\n", ":2254: 'nan' is no row or column"),
        ):
            file.write_text(damage(matrix(500, random_edges(6))))
            self.check([str(file), words, "; correct the file, or fetch it again"],
                       *BOTH, "--graph", file, code=BAD_INPUT)


if __name__ == "__main__":
    unittest.main()
