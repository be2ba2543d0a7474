"""The manual page and the completions of shells, which packages install, against --help."""

import re
import shutil
import subprocess
import tempfile
import unittest

from command_line import run

VERBS = ("build", "compare", "bench", "replay", "trace", "render", "inspect", "list")


def options_of(verb):
    """The options that a verb's help names, with their short names: [["-p", "--pool"], ...]."""
    text = run(verb, "--help").stdout
    return [re.split(r",\s*", re.sub(r"\{.*?\}", "", names))
            for names in re.findall(r"^ {2,10}(-[^\s,]+(?:,\s*-[^\s,]+)*)", text, re.MULTILINE)]


def written(form):
    result = run("--manual", form)
    assert result.returncode == 0, result.stderr
    return result.stdout


def completed(script, *words):
    """What bash offers for the last of the words."""
    call = (f"{script}\nCOMP_WORDS=(heapwood {' '.join(repr(word) for word in words)})\n"
            f"COMP_CWORD={len(words)}\n_heapwood\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"")
    result = subprocess.run(["bash", "-c", call], stdout=subprocess.PIPE, check=True,
                            universal_newlines=True)
    return result.stdout.split()


class ManualTest(unittest.TestCase):
    def test_page_has_all_verbs_and_options(self):
        page = written("man").replace("\\-", "-")
        sections = re.split(r"^\.SS ", page, flags=re.MULTILINE)
        self.assertEqual([re.match(r"\\fB(\w+)", s).group(1) for s in sections[1:]], list(VERBS))
        for verb, section in zip(VERBS, sections[1:]):
            for names in options_of(verb):
                self.assertIn(", ".join(f"\\fB{name}\\fR" for name in names), section)

    @unittest.skipUnless(shutil.which("groff"), "there is no groff")
    def test_page_is_sound(self):
        result = subprocess.run(["groff", "-man", "-ww", "-z", "-Kutf8"], input=written("man"),
                                stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_bash(self):
        script = written("bash")
        self.assertEqual(set(completed(script, "")) & set(VERBS), set(VERBS))
        self.assertEqual(completed(script, "-q", "comp"), ["compare"])
        for verb in VERBS:
            wanted = {name for names in options_of(verb) for name in names}
            self.assertEqual(set(completed(script, verb, "")), wanted)
        self.assertEqual(completed(script, "build", "x.obj", "--device", ""), ["auto", "gpu", "cpu"])
        self.assertEqual(completed(script, "build", "-d", "g"), ["gpu"])
        self.assertEqual(completed(script, "build", "--out", ""), [])

    def test_zsh(self):
        script = written("zsh")
        self.assertTrue(script.startswith("#compdef heapwood\n"))
        for verb in VERBS:
            case = re.search(rf"^        {verb}\)\n(.*?)^            ;;$", script,
                             re.MULTILINE | re.DOTALL).group(1)
            for name in (name for names in options_of(verb) for name in names):
                self.assertIn(f"'{name}[", case)
        self.check_syntax("zsh", script)

    def test_fish(self):
        script = written("fish")
        for verb in VERBS:
            lines = [line for line in script.splitlines()
                     if f"-n '__fish_seen_subcommand_from {verb}'" in line]
            for names in options_of(verb):
                words = " ".join(f"-l {name[2:]}" if name[:2] == "--" else f"-s {name[1:]}"
                                 for name in names)
                self.assertTrue(any(f" {words} " in line for line in lines), (verb, names))
        self.check_syntax("fish", script)

    def check_syntax(self, shell, script):
        """Where there is such a shell."""
        if shutil.which(shell) is None:
            return
        with tempfile.NamedTemporaryFile("w", suffix=f".{shell}") as file:
            file.write(script)
            file.flush()
            subprocess.run([shell, "-n", file.name], check=True)

    def test_unknown_form(self):
        result = run("--manual", "info")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'info' is none of bash, fish, man, zsh", result.stderr)

    def test_is_not_in_the_help(self):
        self.assertNotIn("--manual", run("--help").stdout)


if __name__ == "__main__":
    unittest.main()
