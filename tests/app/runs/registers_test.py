"""Registers of kernels: from ptxas's words (scripts/cmake/registers.sh) to the listing."""

import json
import pathlib
import re
import subprocess
import unittest

from command_line import folder, run

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "cmake" / "registers.sh"

# As nvcc 13.0 -Xptxas=-v writes it, with a function called out of line, and two architectures.
BUILD = "_ZN8heapwood6kdtree12build_kernelINS_10allocators12AtomicMallocEEEvNS0_7ProblemENT_3RefEj"
COUNTING = BUILD.replace("12AtomicMallocE", "8CountingINS2_12AtomicMallocEEE")
ALONE = "_ZN8heapwood3app18uncoalesced_kernelINS_10allocators12AtomicMallocEEEvNT_3RefENS0_7RequestE"
TOGETHER = ALONE.replace("18uncoalesced", "16coalesced")
HELPER = "_ZN8heapwood6kdtree11BuildWorker14record_failureERNS0_10BuildStateENS0_6StatusEm"


def spoken(architecture, kernels):
    """What ptxas says of kernels, each (name, stack, stores, loads, the line of its registers)."""
    lines = ["ptxas info    : 0 bytes gmem, 16 bytes cmem[4]"]
    for name, stack, stores, loads, used in kernels:
        lines += [
            f"ptxas info    : Compiling entry function '{name}' for '{architecture}'",
            f"ptxas info    : Function properties for {name}",
            f"    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads",
            f"ptxas info    : Used {used}",
            "ptxas info    : Compile time = 2081.069 ms",
            f"ptxas info    : Function properties for {HELPER}",
            "    77 bytes stack frame, 100 bytes spill stores, 1000 bytes spill loads",
        ]
    return "".join(line + "\n" for line in lines)


SAMPLE = spoken("sm_80", [
    (TOGETHER, 0, 0, 0, "21 registers, 392 bytes cmem[0]"),
    ("_Z5otherv", 1, 2, 3, "255 registers, used 1 barriers"),
    (ALONE, 0, 0, 0, "18 registers, used 0 barriers, 392 bytes cmem[0]"),
    (COUNTING, 336, 868, 796, "80 registers, used 0 barriers, 336 bytes cumulative stack size"),
]) + spoken("sm_90a", [
    (ALONE, 8, 4, 12, "16 registers, used 0 barriers"),
    (BUILD, 352, 888, 820,
     "79 registers, used 0 barriers, 368 bytes cumulative stack size, 18976 bytes smem"),
    (COUNTING, 336, 868, 796, "80 registers, used 0 barriers, 336 bytes cumulative stack size"),
])


def script(*arguments):
    return subprocess.run(["sh", SCRIPT, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=60, check=False)


class Record(unittest.TestCase):
    def compile(self, place, status=0, messages=""):
        """A compiler that says SAMPLE among other messages; the arguments hold a blank."""
        said = place / "said"
        said.write_text("a.cu(1): warning #177-D\n" + SAMPLE + messages)
        body = f'echo "$#: $3"; echo object >"$3"; cat "{said}" >&2; exit {status}'
        return script("record", "sh", "-c", body, "sh", "-c", "-o", place / "a b.o", "x y.cu")

    def test_keeps_the_figures_and_passes_the_rest_on(self):
        with folder() as place:
            result = self.compile(place, messages="ptxas warning : Stack size\n")
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stdout, f"4: {place / 'a b.o'}\n")
            self.assertEqual(result.stderr, "a.cu(1): warning #177-D\nptxas warning : Stack size\n")
            self.assertEqual((place / "a b.o.ptxas").read_text(), SAMPLE)
            self.assertEqual({p.name for p in place.iterdir()}, {"said", "a b.o", "a b.o.ptxas"})

    def test_a_new_compilation_replaces_the_record(self):
        with folder() as place:
            (place / "a b.o.ptxas").write_text("old\n")
            self.compile(place)
            self.assertEqual((place / "a b.o.ptxas").read_text(), SAMPLE)
            script("record", "true", "-o", place / "a b.o")
            self.assertEqual((place / "a b.o.ptxas").read_text(), "")

    def test_failures_are_the_compilers(self):
        with folder() as place:
            result = self.compile(place, status=3, messages="error: no\n")
            self.assertEqual(result.returncode, 3)
            self.assertTrue(result.stderr.endswith("error: no\n"))
        self.assertEqual(script("record", "sh", "-c", "exit 4").returncode, 4)


class Table(unittest.TestCase):
    def rows(self, place, records):
        """The table's rows for {object: what was recorded}."""
        for name, record in records.items():
            (place / (name + ".ptxas")).write_text(record)
        result = script("table", place / "table.cpp", *(place / name for name in records))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = (place / "table.cpp").read_text()
        self.assertIn("kernel_table()", text)
        return [tuple(int(part) if part.isdigit() else part for part in re.findall(r"[\w-]+", row))
                for row in re.findall(r"^ *\{(.*\}),$", text.replace("Kernel::", ""), re.MULTILINE)]

    def test_rows(self):
        with folder() as place:
            self.assertEqual(self.rows(place, {"atomicmalloc_gpu.cu.o": SAMPLE}), [
                ("atomicmalloc", 80, "coalesced", 21, 0, 100, 1000),
                ("atomicmalloc", 80, "uncoalesced", 18, 0, 100, 1000),
                ("atomicmalloc", 90, "uncoalesced", 16, 8, 104, 1012),
                ("atomicmalloc", 90, "build", 79, 368, 988, 1820),
            ])

    def test_names(self):
        record = spoken("sm_75", [(ALONE, 0, 0, 0, "9 registers")])
        with folder() as place:
            found = self.rows(place, {"x_malloc_published_gpu.cu.o": record, "b_gpu.cu.o": "",
                                      "y_gpu.cu.o": record})
        self.assertEqual(found, [("x-malloc-published", 75, "uncoalesced", 9, 0, 100, 1000),
                                 ("y", 75, "uncoalesced", 9, 0, 100, 1000)])

    def test_without_objects_it_is_empty(self):
        with folder() as place:
            self.assertEqual(self.rows(place, {}), [])

    def test_a_lost_record_is_an_error_and_leaves_no_table(self):
        with folder() as place:
            (place / "there_gpu.cu.o.ptxas").write_text(SAMPLE)
            result = script("table", place / "table.cpp", place / "lost_gpu.cu.o",
                            place / "there_gpu.cu.o")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("lost_gpu.cu.o.ptxas", result.stderr)
            self.assertFalse((place / "table.cpp").exists())


class Listing(unittest.TestCase):
    def test_every_allocator_built_for_a_gpu_has_figures(self):
        for entry in json.loads(run("list", "--json", "-").stdout)["allocators"]:
            with self.subTest(entry["name"]):
                registers = entry["registers"]
                if "gpu" not in entry["devices"]:
                    self.assertIsNone(registers)
                    continue
                self.assertRegex(registers["architecture"], "^sm_[0-9]+$")
                for kernel in ("uncoalesced", "coalesced", "build"):
                    # No kernel gets by with fewer than 4, and no thread has more than 255.
                    self.assertIn(registers[kernel]["registers"], range(4, 256))
                    for figure in ("stack_bytes", "spill_store_bytes", "spill_load_bytes"):
                        self.assertGreaterEqual(registers[kernel][figure], 0)
                if entry["name"] == "atomicmalloc":  # others need more than a build may have
                    self.assertGreater(registers["build"]["registers"],
                                       registers["uncoalesced"]["registers"])

    def test_published_figures(self):
        names = {entry["name"]: entry["published_registers"]
                 for entry in json.loads(run("list", "--json", "-").stdout)["allocators"]}
        self.assertEqual(names["atomicmalloc"], {"uncoalesced": 4, "coalesced": 9})
        self.assertEqual(names["cudamalloc"], {"uncoalesced": None, "coalesced": None})

    def test_table_agrees(self):
        table = run("list", "--markdown").stdout.split("### Registers")[1].split("###")[0]
        cells = {row[1]: row[2:-1] for row in
                 ([cell.strip() for cell in line.split("|")] for line in table.splitlines())
                 if len(row) > 2}
        for entry in json.loads(run("list", "--json", "-").stdout)["allocators"]:
            row = cells[entry["name"]]
            registers = entry["registers"] or {}
            for cell, kernel in ((row[0], "uncoalesced"), (row[2], "coalesced"), (row[4], "build")):
                figures = registers.get(kernel)
                self.assertEqual(cell.split()[0], str(figures["registers"]) if figures else "–")
            for cell, kernel in ((row[1], "uncoalesced"), (row[3], "coalesced")):
                published = entry["published_registers"][kernel]
                self.assertEqual(cell, "–" if published is None else str(published))
            self.assertEqual(row[5], registers.get("architecture", "–"))


if __name__ == "__main__":
    unittest.main()
