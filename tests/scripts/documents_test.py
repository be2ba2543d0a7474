"""The documents: README is short, links lead somewhere, commands parse, tables are not stale."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import ROOT

import make_results

EXECUTABLE = os.environ.get("HEAPWOOD_TEST_EXECUTABLE")
MOST_LINES = 150
VERBS = ("build", "compare", "bench", "replay", "list")


def documents():
    """All Markdown of the repository, but what others' tools put there."""
    folders = (".", "allocators", "app", "kdtree", "scenes", "scripts", "tests")
    found = [path for folder in folders[1:] for path in (ROOT / folder).rglob("*.md")]
    return sorted([*ROOT.glob("*.md"), *found])


def without_code(text):
    """The text without its blocks and spans of code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(path):
    """The names by which links reach the headings of a document, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands():
    """(document, words) of every call of the program in a block of shell."""
    for path in documents():
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line.replace("...", ""), comments=True)
                calls = [i for i, word in enumerate(words[:-1])
                         if word.split("/")[-1] == "heapwood" and words[i + 1] in VERBS]
                if calls:
                    yield path.relative_to(ROOT), words[calls[0] + 1:]


class DocumentsTest(unittest.TestCase):
    def test_readme_is_short(self):
        lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), MOST_LINES)

    def test_links_lead_to_files_and_headings(self):
        checked = 0
        for path in documents():
            links = re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text(encoding="utf-8")))
            for link in links:
                if re.match(r"[a-z]+:", link):
                    continue
                file, _, heading = link.partition("#")
                target = (path.parent / file).resolve() if file else path
                with self.subTest(document=path.name, link=link):
                    self.assertTrue(target.exists())
                    if heading:
                        self.assertIn(heading, anchors(target))
                checked += 1
        self.assertGreater(checked, 50)

    def test_every_folder_at_the_top_has_a_readme(self):
        for folder in ("allocators", "app", "kdtree", "scenes", "scripts/results",
                       "scripts/published"):
            self.assertTrue((ROOT / folder / "README.md").exists(), folder)

    def test_the_tables_are_those_of_the_raw_samples(self):
        result = subprocess.run(
            [sys.executable, "-B", ROOT / "scripts/make_results.py", "--check"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
        )
        self.assertEqual((result.returncode, result.stdout), (0, ""),
                         f"run scripts/make_results.py\n{result.stdout}{result.stderr}")

    def test_no_document_has_tables_that_the_script_does_not_make(self):
        made = [ROOT / name for name in make_results.DOCUMENTS]
        with_tables = [path for path in documents()
                       if "<!-- table:" in without_code(path.read_text(encoding="utf-8"))]
        self.assertGreater(len(with_tables), 3)
        self.assertEqual([path for path in with_tables if path not in made], [])

    def test_documents_show_every_figure(self):
        text = "".join(path.read_text(encoding="utf-8") for path in documents())
        figures = list((ROOT / "scripts/results/figures").iterdir())
        self.assertGreater(len(figures), 3)
        self.assertEqual([f.name for f in figures if f"figures/{f.name})" not in text], [])

    @unittest.skipUnless(EXECUTABLE, "needs HEAPWOOD_TEST_EXECUTABLE")
    def test_options_in_commands_exist(self):
        help_of = {}
        checked = 0
        for document, (verb, *words) in commands():
            if verb not in help_of:
                help_of[verb] = subprocess.run(
                    [EXECUTABLE, verb, "--help"], stdout=subprocess.PIPE, check=True
                ).stdout.decode()
            known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", help_of[verb]))
            for option in (word.split("=")[0] for word in words if word.startswith("-")):
                if option == "-":
                    continue
                with self.subTest(document=str(document), verb=verb, option=option):
                    self.assertIn(option, known)
                checked += 1
        self.assertGreater(checked, 20)


class MakeResultsTest(unittest.TestCase):
    """The script on a small repository of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        self.results = self.root / "scripts/results"
        self.results.mkdir(parents=True)
        shutil.copy(ROOT / "scripts/results/h100-compare.json.xz", self.results)

    def run_script(self, *arguments, text=None):
        if text is not None:
            (self.root / "README.md").write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-B", ROOT / "scripts/make_results.py", "--root", self.root,
             "--no-figures", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
        )

    def test_writes_what_it_then_finds_fresh(self):
        words = "slowdown h100-compare 200x cambium cudamalloc"
        text = f"before\n<!-- table: {words} -->\nold\n<!-- end -->\nafter\n"
        result = self.run_script("--check", text=text)
        self.assertEqual((result.returncode, result.stdout), (1, f"stale: README.md: {words}\n"))
        self.assertEqual((self.root / "README.md").read_text(encoding="utf-8"), text)
        self.assertEqual(self.run_script().returncode, 0)
        new = (self.root / "README.md").read_text(encoding="utf-8")
        self.assertNotIn("old", new)
        rows = [line for line in new.splitlines() if line.startswith("| ")]
        self.assertRegex(rows[2], r"^\| cambium \| (.* )?\*\*1\.\d\dx\*\* \|")
        self.assertRegex(rows[3], r"^\| cudamalloc \| \d\d\.\d\dx \|")
        self.assertTrue(new.startswith("before\n") and new.endswith("after\n"))
        self.assertEqual(self.run_script("--check").returncode, 0)
        # Another median in the text is found.
        (self.root / "README.md").write_text(new.replace("**1.", "**2.", 1), encoding="utf-8")
        self.assertEqual(self.run_script("--check").returncode, 1)

    def test_a_changed_figure_of_the_frontier_is_found(self):
        for table in ("frontier", "frontier_summary"):
            with self.subTest(table=table):
                text = f"<!-- table: {table} h100-compare -->\n<!-- end -->\n"
                self.assertEqual(self.run_script(text=text).returncode, 0)
                self.assertEqual(self.run_script("--check").returncode, 0)
                new = (self.root / "README.md").read_text(encoding="utf-8")
                digit = re.search(r"\d(?=[^\n]*\n\n<!-- end)", new).start()
                other = f"{new[:digit]}{9 - int(new[digit])}{new[digit + 1:]}"
                result = self.run_script("--check", text=other)
                self.assertEqual((result.returncode, result.stdout),
                                 (1, f"stale: README.md: {table} h100-compare\n"))

    def test_mistakes_name_the_line(self):
        for words, problem in (
            ("slowdown h200 20x", "README.md:2: there is no result 'h200'"),
            ("speedup h100-compare", "README.md:2: there is no table 'speedup h100-compare'"),
            ("slowdown h100-compare 7x", "has no pool 7x"),
            ("slowdown h100-compare 20x nobody", "has no nobody"),
            ("series h100-compare ad.payload", "cannot be made"),
            ("frontier h100-compare 20x", "cannot be made"),
            ("slowdown h100-compare", "cannot be made"),
        ):
            with self.subTest(words=words):
                result = self.run_script(text=f"\n<!-- table: {words} -->\n<!-- end -->\n")
                self.assertEqual(result.returncode, 2)
                self.assertIn(problem, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)
        result = self.run_script(text="<!-- table: scenes h100-compare -->\nno end\n")
        self.assertEqual(result.returncode, 2)
        self.assertIn("has no <!-- end -->", result.stderr)

    def test_damaged_results(self):
        (self.results / "h100-compare.json.xz").write_bytes(b"\xfd7zXZ\x00 and no more")
        result = self.run_script(text="<!-- table: scenes h100-compare -->\n<!-- end -->\n")
        self.assertEqual(result.returncode, 2)
        self.assertIn("is no whole .xz file", result.stderr)
        self.assertNotIn("Traceback", result.stderr)


if __name__ == "__main__":
    unittest.main()
