"""The scripts as programs, where standard output cannot be written or results are hostile."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import ROOT, needs

needs("matplotlib", "numpy", "pandas", "rich", "typer")

import sample_results  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import compare  # noqa: E402
import plot  # noqa: E402

FULL = pathlib.Path("/dev/full")


class OutputTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.good = self.write("good.json", json.dumps(sample_results.compare(pools=("20x",))))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def run_script(self, name, *arguments, stdout=subprocess.PIPE):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "scripts" / name, *arguments], stdout=stdout,
            stderr=subprocess.PIPE, universal_newlines=True, timeout=120,
        )

    def calls(self, path):
        """The scripts that read results, and their calls."""
        return (
            ("plot.py", (path, "--format", "svg", "--out", self.folder / "out")),
            ("compare.py", (self.good, path, "--all")),
        )

    @unittest.skipUnless(FULL.exists(), "there is no /dev/full")
    def test_full_output_is_said(self):
        calls = (*self.calls(self.good), ("fetch_scenes.py", ("--list",)))
        for script, arguments in calls:
            with self.subTest(script=script), open(FULL, "w", encoding="utf-8") as full:
                result = self.run_script(script, *arguments, stdout=full)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("standard output cannot be written: No space left", result.stderr)
                self.assertNotIn("Traceback", result.stderr)
                self.assertNotIn("Exception ignored", result.stderr)

    def test_a_reader_that_has_gone(self):
        for script, arguments in (*self.calls(self.good), ("fetch_scenes.py", ("--list",))):
            with self.subTest(script=script):
                reading, writing = os.pipe()
                os.close(reading)
                with os.fdopen(writing, "w") as pipe:
                    result = self.run_script(script, *arguments, stdout=pipe)
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual(result.stderr, "")

    def test_no_terminal_obeys_names(self):
        document = sample_results.compare(scenes=("\x1b[31mx\u009b\u202e.obj",), pools=("20x",))
        document["provenance"]["device"] = "\x1b]0;title\a"
        hostile = self.write("\x1b[2J\nplot: error: forged.json", json.dumps(document))
        word = b"\x1b[31m\xff\n"
        calls = (*self.calls(hostile), *self.calls(word), ("compare.py", (b"--" + word,)),
                 ("plot.py", (self.good, b"--format=" + word)), ("plot.py", (b"--" + word,)),
                 ("fetch_scenes.py", (word,)), ("fetch_scenes.py", (b"--catalogue", word)),
                 ("fetch_scenes.py", (b"--" + word,)), ("coverage.py", (word,)),
                 ("make_results.py", (word,)))
        for script, arguments in calls:
            with self.subTest(script=script, arguments=arguments):
                result = self.run_script(script, *arguments)
                said = result.stdout + result.stderr
                self.assertNotIn("Traceback", said)
                self.assertRegex(said, r"\\x1b")
                self.assertNotRegex(said, "[^\n -~\u2013\u2026\u00b7]")
                self.assertNotRegex(said, "(?m)^plot: error: forged")

    def test_hostile_results_get_a_sentence(self):
        good = sample_results.compare(pools=("20x",))
        bench = sample_results.bench()

        def changed(document, change):
            copy = json.loads(json.dumps(document))
            change(copy)
            return json.dumps(copy)

        texts = {
            "deep": "[" * 1000000,
            "deep_value": '{"schema": 1, "kind": "compare", "x": ' + "[" * 200000,
            "digits": '{"schema": 1, "kind": "compare", "x": ' + "9" * 10000 + "}",
            "nan": changed(good, lambda d: d["cells"][0]["build"].update(slowdown=float("nan"))),
            "inf": changed(good, lambda d: d).replace('"median": ', '"median": 1e999, "m": ', 1),
            "median": changed(good, lambda d: d["cells"][3]["build"]["ms"].update(median="x")),
            "samples": changed(good, lambda d: d["cells"][3]["build"]["ms"].update(samples=7)),
            "scene": changed(good, lambda d: d["cells"][0].update(scene=[])),
            "provenance": changed(good, lambda d: d.update(provenance=[])),
            "version": changed(good, lambda d: d["provenance"].pop("version")),
            "pools": changed(good, lambda d: d.update(pools=7)),
            "allocators": changed(good, lambda d: d.update(allocators=[])),
            "schema": changed(good, lambda d: d.update(schema=[1] * 100)),
            "x": changed(bench, lambda d: d["cells"][0].update(x="many")),
            "metrics": changed(bench, lambda d: d["cells"][0].update(metrics=3)),
            "series": changed(bench, lambda d: d["series"][0].update(metrics=[1])),
        }
        for name, text in texts.items():
            path = self.write(f"{name}.json", text)
            for script, arguments in self.calls(path):
                if (name, script) == ("pools", "compare.py"):
                    continue  # it compares cells only
                program = {"plot.py": plot, "compare.py": compare}[script]
                with self.subTest(result=name, script=script):
                    result = CliRunner().invoke(program.APP, [str(word) for word in arguments])
                    # Anything else would be a traceback.
                    self.assertIsInstance(result.exception, SystemExit)
                    self.assertEqual(result.exit_code, 2, result.output)
                    self.assertIn(f"{script[:-3]}: error: ", result.output)

    def test_a_bomb_is_not_unpacked(self):
        import lzma

        path = self.folder / "bomb.json.xz"
        with lzma.open(path, "wb", preset=0) as file:
            for _ in range(513):
                file.write(bytes(1 << 20))
        result = self.run_script("compare.py", self.good, path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("has more than 512 MiB of text", result.stderr)


if __name__ == "__main__":
    unittest.main()
