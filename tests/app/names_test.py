"""Names and fields from outside: what a terminal would obey."""

import os
import subprocess
import unittest

from command_line import BAD_INPUT, DONE, EXECUTABLE, MODELS, USAGE, environment, folder, run

GEM = (MODELS / "gem.obj").read_bytes()
HOSTILE = b"\x1b[31m\x07\r\x9b2J\xc2\x9b1m\xe2\x80\xae\nheapwood: error: forged"
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
        self.assertNotRegex(text, "(?m)^heapwood: error: forged")
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
            path = place / os.fsdecode(HOSTILE.replace(b"/", b"") + b".obj")
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


if __name__ == "__main__":
    unittest.main()
