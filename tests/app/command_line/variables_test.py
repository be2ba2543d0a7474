"""Every option of every verb, as the manual page has it: its default, and its variable."""

import re
import unittest

from command_line import USAGE, run, thorough

WORDS = {"SCENE": "gen:sphere:200", "TEST": "ad", "FILE": "missing"}
VALUES = ("2x", "-", "1e39")
if thorough():
    VALUES += ("x", "-1", "010", "1.5", "99999999999999999999", "auto", "none", "on")
UNKNOWN = "--no-such-option"
# Whose variable has another name: scripts/heapwood has HEAPWOOD_PRESET; these are no values of other verbs'.
RENAMED = {"--preset": "HEAPWOOD_TREE_PRESET", "bench --pool": "HEAPWOOD_BENCH_POOL",
           "render --out": "HEAPWOOD_RENDER_OUT"}


class Option:
    """What the page says of an option."""

    def __init__(self, verb, words, names, kind, notes):
        self.verb, self.words, self.name, self.kind = verb, words, names[-1], kind
        if names[-1].startswith("--no-"):
            self.name = names[-2]
        found = re.search(r"\((?:default: (.*?))?(?:; )?(?:environment: (\w+))?\)\n*\Z", notes)
        self.default, self.variable = found.groups() if found else (None, None)
        self.sentence = notes[:found.start()] if found else notes

    def key(self):
        return self.name, self.kind, self.default, self.variable

    def run(self, value=None, variable=None):
        """What the program says when it has read all but a last word that it does not know."""
        given = [] if value is None else [f"{self.name}={value}"]
        env = {} if variable is None else {self.variable: variable}
        return run(self.verb, *self.words, *given, UNKNOWN, env=env)


def options():
    page = run("--manual", "man").stdout.replace("\\-", "-").replace("\\e", "\\")
    for section in re.split(r"^\.SS ", page, flags=re.MULTILINE)[1:]:
        heading = section.splitlines()[0]
        verb = re.match(r"\\fB(\w+)", heading).group(1)
        words = [WORDS[word] for word in re.findall(r"\\fI([A-Z]+)\\fR", heading)]
        for text in section.split(".PP\n")[0].split(".TP\n")[1:]:
            head, notes = text.split("\n", 1)
            names = re.findall(r"\\fB(-[^\\]+)\\fR", head)
            kind = re.search(r"\\fI(.*?)\\fR", head)
            if names and names[-1] != "--help":
                yield Option(verb, words, names, kind.group(1) if kind else "", notes)


ALL = list(options())
DIFFERENT = list({option.key(): option for option in ALL}.values())


class Variables(unittest.TestCase):
    def expect_accepted(self, result):
        self.assertEqual(result.returncode, USAGE)
        self.assertIn(UNKNOWN, result.stderr)

    def test_there_are_options(self):
        self.assertGreater(len(DIFFERENT), 60)
        for option in ALL:
            usual = "HEAPWOOD_" + option.name[2:].upper().replace("-", "_")
            names = {option.name, f"{option.verb} {option.name}"} & RENAMED.keys()
            self.assertEqual(option.variable, RENAMED[names.pop()] if names else usual, option.key())

    def test_every_option_says_what_it_is(self):
        for option in ALL:
            with self.subTest(verb=option.verb, option=option.name):
                self.assertGreaterEqual(len(option.sentence.strip()), len("Pixels"))
                self.assertRegex(option.sentence, r"\A[A-Za-z0-9]")
                self.assertNotRegex(option.sentence.strip(), r"\.\Z")

    def test_a_default_can_be_typed(self):
        for option in DIFFERENT:
            if option.default is not None:
                with self.subTest(option=option.key()):
                    self.expect_accepted(option.run(value=option.default))

    def test_a_variable_takes_what_its_option_takes(self):
        """And what is refused is refused with the same sentence, which names the variable."""
        for option in DIFFERENT:
            for value in VALUES:
                with self.subTest(option=option.key(), value=value):
                    given, set_ = option.run(value=value), option.run(variable=value)
                    self.assertEqual(given.returncode, USAGE)
                    named = given.stderr.replace(f": {option.name}: ",
                                                 f": {option.name} ({option.variable}): ")
                    self.assertEqual((set_.returncode, set_.stderr), (USAGE, named))
                    if UNKNOWN not in given.stderr:
                        self.assertIn(option.name, given.stderr)
                        said = {"FILE": "a file", "WxH": "'"}.get(option.kind, f"'{value}'")
                        self.assertIn(said, given.stderr)

    def test_a_flag_is_refused_by_all_its_names(self):
        for name in ("--clip", "--no-clip", "--statistics", "--no-statistics", "--csv"):
            for value in ("2x", "-", "t", "2", "99999999999999999999", "99999999999999999999x"):
                result = run("build", WORDS["SCENE"], f"{name}={value}")
                self.assertEqual(result.returncode, USAGE, result.stderr)
                self.assertIn(f"{name}: '{value}' is none of 0, 1, false, no, off, on, true, yes",
                              result.stderr)

    def test_a_variable_is_read_by_the_verbs_that_have_its_option(self):
        everything = {option.variable for option in ALL}
        for verb in {option.verb: option for option in ALL}.values():
            own = {option.variable for option in ALL if option.verb == verb.verb}
            with self.subTest(verb=verb.verb):
                result = run(verb.verb, *verb.words, UNKNOWN,
                             env={name: "2y" for name in everything - own})
                self.expect_accepted(result)

    def test_a_variable_has_one_grammar(self):
        """What is a value of it in one verb is one in all that read it."""
        for option in DIFFERENT:
            others = {other.verb: other for other in DIFFERENT
                      if other.variable == option.variable and other is not option}
            for other in others.values():
                with self.subTest(option=option.key(), other=other.key()):
                    self.assertEqual(option.kind, other.kind)
                    if option.default is not None:
                        self.expect_accepted(other.run(variable=option.default))
                        self.expect_accepted(option.run(variable=other.default))

    def test_numbers_have_two_ends(self):
        for arguments in (("render", WORDS["SCENE"], "--camera=1e39,0,0"),
                          ("build", WORDS["SCENE"], "--traversal-cost=1e39")):
            result = run(*arguments)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn("'1e39' is not a number from ", result.stderr)
            self.assertIn(" up to 3.4028235e+38\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
