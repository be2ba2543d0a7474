"""scripts/coverage.py: the sums of folders, the threshold, and files that it refuses."""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from support import ROOT, test_seed

SEED = test_seed()


def summary(counts):
    """As gcovr has it, of {file: (lines that ran, lines)}."""
    return json.dumps({"files": [
        {"filename": name, "line_covered": ran, "line_total": lines}
        for name, (ran, lines) in counts.items()
    ]})


def run(text):
    """The script on a file of that text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "summary.json"
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, "-B", str(ROOT / "scripts" / "coverage.py"), path],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              timeout=60, check=False)


FULL = {"allocators/a.cuh": (10, 10), "kdtree/b.h": (10, 10), "scenes/c.cpp": (10, 10)}


class Coverage(unittest.TestCase):
    def test_each_folder_needs_ninety_per_cent(self):
        self.assertEqual(run(summary(FULL)).returncode, 0)
        for name in FULL:
            for ran, code in ((900, 0), (899, 1)):
                result = run(summary({**FULL, name: (ran, 1000)}))
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(name.split("/")[0] + "/" in result.stderr, code == 1)

    def test_a_share_is_not_rounded_up(self):
        result = run(summary({**FULL, "scenes/c.cpp": (89999, 100000)}))
        self.assertEqual(result.returncode, 1)
        self.assertIn("89.9 %", result.stdout)

    def test_sums_of_folders(self):
        print(f"HEAPWOOD_TEST_SEED={SEED}")
        source = random.Random(SEED)
        counts = {}
        for folder in ("allocators", "allocators/measure", "kdtree/tree", "scenes"):
            for i in range(source.randint(1, 9)):
                lines = source.randint(1, 999)
                counts[f"{folder}/{i}.h"] = (source.randint(0, lines), lines)
        rows = {}
        poor = set()
        files = False
        for line in run(summary(counts)).stdout.splitlines():
            words = line.split()
            files = files or line.startswith("Files below")
            if files and "/" in line:
                poor.add(words[0])
            elif "lines" in words:
                rows[words[0]] = tuple(int(words[i].replace(",", "")) for i in (1, 3))
        for folder in ("allocators", "allocators/measure", "kdtree", "kdtree/tree", "scenes"):
            inside = [c for name, c in counts.items() if name.startswith(folder + "/")]
            self.assertEqual(rows[folder], tuple(map(sum, zip(*inside))), folder)
        self.assertEqual(poor, {name for name, c in counts.items() if c[0] / c[1] < 0.8})

    def test_what_is_no_summary_is_refused(self):
        lacking = {name: c for name, c in FULL.items() if not name.startswith("kdtree")}
        wrong = (None, "", "{", "[]", "{}", '{"files": 1}', '{"files": [{}]}', summary(lacking))
        for text in wrong:
            result = run(text)
            self.assertEqual(result.returncode, 2, text)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"^coverage: error: .*summary\.json.*; give what")


if __name__ == "__main__":
    unittest.main()
