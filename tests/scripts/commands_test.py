"""README's two commands refuse what they do not understand, before they install or build anything."""

import os
import pathlib
import subprocess
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def run(script, *arguments, **variables):
    """Runs a script, which must not install anything."""
    return subprocess.run(
        [str(SCRIPTS / script), *arguments],
        env={**os.environ, "HEAPWOOD_YES": "0", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


class Commands(unittest.TestCase):
    def check(self, words, result):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout, "")
        for word in words:
            self.assertIn(word, result.stderr)

    def test_an_option_that_ctest_does_not_know(self):
        for option in ("--nonsense", "--nonsense=1", "-nonsense"):
            self.check(["ctest has no option", option, "--help"], run("test", option))
            self.check(["ctest has no option", option], run("test", "-R", "x", option))
            self.check(["ctest has no option", option], run("test", "--coverage", option))

    def test_a_preset_that_there_is_not(self):
        names = "asan, ci, coverage, cpu, gpu, tsan"
        self.check(["--preset", "'zzz'", names], run("test", "--preset", "zzz"))
        self.check(["--preset needs a name"], run("test", "--preset"))
        self.check(["HEAPWOOD_PRESET", "'zzz'", names],
                   run("heapwood", "list", HEAPWOOD_PRESET="zzz"))


if __name__ == "__main__":
    unittest.main()
