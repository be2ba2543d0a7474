"""Results and catalogues that were changed at random: the scripts do their work or say a sentence.

HEAPWOOD_TEST_SEED=... repeats a run.
"""

import contextlib
import copy
import io
import json
import pathlib
import random
import tempfile
import unittest

from support import needs

needs("matplotlib", "numpy", "pandas", "rich", "typer")

import sample_results  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import compare  # noqa: E402
import fetch_scenes  # noqa: E402
import plot  # noqa: E402
from support import ROOT, test_seed  # noqa: E402

SEED = test_seed()
SAMPLES = (
    sample_results.compare(pools=("20x",)), sample_results.bench(), sample_results.replay()
)
VALUES = (
    None, True, 0, -1, 7, 10**400, 2**63, 1e-308, 1e308, -1e308, float("nan"), float("inf"), "",
    "x", "1e999", "\ud800", "a\0b", "$\\frac{$", "<b>", "[/x]", [], [[]], [None], [1e308, 1e-308],
    {}, {"x": 1},
)


def places(document):
    """All (container, key) of a document."""
    found = []
    pending = [document]
    while pending:
        one = pending.pop()
        items = one.items() if isinstance(one, dict) else enumerate(one)
        for key, value in list(items):
            found.append((one, key))
            if isinstance(value, (dict, list)):
                pending.append(value)
    return found


def change(dice, document):
    """Changes one place of a document."""
    container, key = dice.choice(places(document))
    how = dice.randrange(6)
    if how == 0:
        del container[key]
    elif how == 1 and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    elif how == 2:
        other, name = dice.choice(places(document))
        container[key] = copy.deepcopy(other[name])
    else:
        container[key] = copy.deepcopy(dice.choice(VALUES))  # or it could get into itself


def damage(dice, text):
    """Changes the text of a document."""
    at = dice.randrange(len(text))
    return dice.choice((
        text[:at],
        text[:at] + chr(dice.randrange(128)) + text[at + 1:],
        text[:at] + "[" * 100_000 + text[at:],
        text[:at] + "9" * dice.choice((3, 400, 5000)) + text[at:],
        text[:at] + text[at // 2:],
    ))


def mutated(dice, document):
    """The text of a document with some changes."""
    changed = copy.deepcopy(document)
    for _ in range(dice.choice((1, 1, 2, 5))):
        change(dice, changed)
        if not changed:
            break
    text = json.dumps(changed)
    return damage(dice, text) if dice.randrange(4) == 0 else text


class MutationTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.dice = random.Random(SEED)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return path

    def check(self, number, program, *arguments):
        """The program ends by itself, and says a sentence if it fails."""
        result = CliRunner().invoke(program.APP, [str(word) for word in arguments])
        with self.subTest(seed=SEED, number=number):
            if result.exception is not None:
                self.assertIsInstance(result.exception, SystemExit, repr(result.exception))
            self.assertIn(result.exit_code, (0, 1, 2))
            if result.exit_code == 2:
                self.assertIn("error: ", result.output)

    def test_compare(self):
        for number in range(60):
            sample = self.dice.choice(SAMPLES)
            good = self.write("good.json", json.dumps(sample))
            bad = self.write("bad.json", mutated(self.dice, sample))
            pair = (good, bad) if number % 2 else (bad, good)
            self.check(number, compare, *pair, "--all")

    def test_plot(self):
        for number in range(8):
            sample = self.dice.choice(SAMPLES)
            bad = self.write("bad.json", mutated(self.dice, sample))
            self.check(number, plot, bad, "--format", "svg", "--out", self.folder / "out")

    def test_catalogue(self):
        catalogue = json.loads((ROOT / "scenes" / "catalogue.json").read_text(encoding="utf-8"))
        for number in range(300):
            path = self.write("catalogue.json", mutated(self.dice, catalogue))
            with self.subTest(seed=SEED, number=number):
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        fetch_scenes.print_list(fetch_scenes.read_catalogue(path))
                except fetch_scenes.CatalogueError as error:
                    self.assertIn(str(path), str(error))


if __name__ == "__main__":
    print(f"HEAPWOOD_TEST_SEED={SEED}", flush=True)
    unittest.main()
