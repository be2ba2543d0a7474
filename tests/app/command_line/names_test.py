"""Names and fields from outside: what a terminal would obey, and bytes that are not UTF-8."""

import json
import os
import re
import subprocess
import unittest

from command_line import (BAD_INPUT, DONE, EXECUTABLE, MODELS, USAGE, build, compare, compared,
                          environment, folder, run)

GEM = (MODELS / "gem.obj").read_bytes()
HOSTILE = b"\x1b[31m\x07\r\x9b2J\xc2\x9b1m\xe2\x80\xae\nheapwood: error: forged"
NOT_UTF8 = os.fsdecode(b"caf\xe9 \xff.obj")
MATRIX = b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n3 2\n"


def raw(*arguments, env=None):
    """Runs heapwood; the result has bytes."""
    return subprocess.run([EXECUTABLE, *arguments], env=environment(**(env or {})),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)


class Terminals(unittest.TestCase):
    """What is printed has line ends, and no other character that a terminal obeys."""

    def check(self, result, *codes):
        text = (result.stdout + result.stderr).decode("utf-8")
        self.assertIn(result.returncode, codes, text)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
        self.assertNotIn(b"\nheapwood: error: forged", b"\n" + result.stderr)
        self.assertLess(len(text), 40_000)
        return text

    def test_words_of_the_command_line(self):
        word = HOSTILE
        for arguments in ((word,), (b"build", word), (b"build", b"gen:sphere:9", b"--" + word),
                          (b"build", b"gen:" + word), (b"build", b"gen:sphere:" + word),
                          (b"build", b"gen:sphere:9", b"-a", word),
                          (b"build", b"gen:sphere:9", b"--pool", word),
                          (b"build", b"gen:sphere:9", b"--json", word + b"/x"),
                          (b"build", b"gen:sphere:9", b"--preset", word),
                          (b"compare", b"gen:sphere:9", b"--resume", word + b"/x"),
                          (b"bench", word), (b"bench", b"churn", b"--sizes", word),
                          (b"replay", word), (b"inspect", word + b".kdt"),
                          (b"render", b"gen:sphere:9", b"-o", word)):
            with self.subTest(arguments=arguments):
                text = self.check(raw(*arguments), USAGE, BAD_INPUT)
                self.assertIn("\\x1b[31m", text)

    def test_variables(self):
        for name in ("HEAPWOOD_POOL", "HEAPWOOD_ALLOCATOR", "HEAPWOOD_SEED"):
            self.check(raw("trace", "gen:sphere:9", env={name: os.fsdecode(HOSTILE)}), USAGE)

    def test_fields_of_files(self):
        huge = b"x" * 2_000_000
        log = b"Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00:000001,allocate,0x1,%s,0\n"
        with folder() as place:
            for field in (HOSTILE.replace(b"\n", b""), huge, b"x " * 1_000_000):
                for verb, name, text in (
                        ("replay", "log.csv", log % field), ("replay", "log.csv", field),
                        ("bench", "m.mtx", MATRIX.replace(b"pattern", field)),
                        ("bench", "m.mtx", MATRIX.replace(b"2 1", field)),
                        ("bench", "m.mtx", field + MATRIX),
                        ("build", "s.list", field), ("build", "s.obj", b"v 0 0 " + field),
                        ("build", "s.obj", GEM + b"f 1 2 " + field)):
                    path = place / name
                    path.write_bytes(text)
                    graph = ("graph-init", "--graph") if verb == "bench" else ()
                    with self.subTest(verb=verb, text=text[:80]):
                        self.check(raw(verb, *graph, path), USAGE, BAD_INPUT)

    def test_names_in_results(self):
        with folder() as place:
            path = place / os.fsdecode(HOSTILE + b".obj")
            path.write_bytes(GEM)
            for option in ((), ("--csv",), ("--markdown",), ("--json", "-")):
                for verb in (("build",), ("compare", "-a", "atomicmalloc"), ("trace",),
                             ("inspect",), ("render", "-o", place / "a.png")):
                    with self.subTest(option=option, verb=verb):
                        self.check(raw(*verb, path, "--device", "cpu", *option), DONE)

    def test_long_words_leave_cause_and_remedy(self):
        result = run("build", "gen:sphere:9", "--pool", "9" * 100_000)
        self.assertEqual(result.returncode, USAGE)
        self.assertLess(len(result.stderr), 2000)
        self.assertRegex(result.stderr, r"^heapwood: error: --pool: '9+\.\.\.\([\d,]+ bytes\)\.\.\.")


class Bytes(unittest.TestCase):
    """Names need not be UTF-8."""

    def test_scenes_of_workers(self):
        with folder() as place:
            path, journal = place / NOT_UTF8, place / os.fsdecode(b"j\xff")
            path.write_bytes(GEM)
            options = ("-a", "atomicmalloc,halloc", "--repeat", 1)
            found = compared(path, *options)
            self.assertEqual([cell["outcome"] for cell in found["cells"]], ["done", "done"])
            self.assertTrue(found["scenes"][0]["path"].endswith("caf\ufffd \ufffd.obj"))
            for _ in range(2):
                result = compare(path, *options, "--resume", journal)
                self.assertEqual(result.returncode, DONE, result.stderr)
            other = place / os.fsdecode(b"caf\xe8 \xff.obj")
            other.write_bytes(GEM)
            result = compare(other, *options, "--resume", journal)
            self.assertEqual(result.returncode, USAGE, "the names differ in a byte")
            self.assertIn("is of another run", result.stderr)

    def test_lists(self):
        with folder() as place:
            (place / NOT_UTF8).write_bytes(GEM)
            names = place / os.fsdecode(b"\xff.list")
            names.write_bytes(os.fsencode(NOT_UTF8) + b"\n")
            found = compared(names, "-a", "atomicmalloc", "--repeat", 1)
            self.assertEqual(found["cells"][0]["outcome"], "done")

    def test_parts(self):
        with folder() as place:
            path, out = place / NOT_UTF8, place / os.fsdecode(b"\xff.kdt")
            path.write_bytes(GEM)
            result = build(path, "--parts", 2, "--out", out, "--json", "-")
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertTrue(out.exists())
            self.assertIn("digest", result.stdout)

    def test_recorded_requests_and_graphs(self):
        with folder() as place:
            trace, graph = place / os.fsdecode(b"\xff.trace"), place / os.fsdecode(b"\xff.mtx")
            self.assertEqual(build("gen:sphere:50", "--repeat", 1, "--trace", trace).returncode,
                             DONE)
            graph.write_bytes(MATRIX)
            for arguments in (("replay", trace), ("bench", "graph-init", "--graph", graph)):
                result = run(*arguments, "--device", "cpu", "-a", "halloc", "--repeat", 1, "--json",
                             "-")
                self.assertEqual(result.returncode, DONE, result.stderr)
                outcomes = set(re.findall(r'"outcome": "(\w+)"', result.stdout))
                self.assertEqual(outcomes, {"done"})
                json.loads(result.stdout)


if __name__ == "__main__":
    unittest.main()
