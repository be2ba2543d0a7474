"""Journals that were edited: a run that goes on from one gives results by its schema, or a sentence."""

import json
import unittest

from command_line import DONE, USAGE, build, dice, folder, run, thorough
from schemas import violations

CPU = ("--device", "cpu", "--threads", 1)
VALUES = (None, "x", "", -1, 0, 1.5, 10**18, True, [], {})
DELETED = object()
# What had once made results against the schema: where in a turn's sample, and what was there.
KNOWN = {
    "compare": [(("fragmentation", "internal"), 1.5), (("fragmentation", "peak", "external"), 1e18),
                (("tree", "nodes"), 0), (("tree", "leaves"), None),
                (("fragmentation", "peak", "live_bytes"), 0),
                (("fragmentation", "peak", "allocated_bytes"), None)],
    "bench": [(("counts", "corrupt"), 1)],
    "replay": [(("metrics", "callers", "value", 0), 0), (("metrics", "end_external", "value", 0), 2)],
}


def places(json_value, path=()):
    """Where something can be changed; of lists the first item."""
    items = (json_value.items() if isinstance(json_value, dict) else
             list(enumerate(json_value))[:1] if isinstance(json_value, list) else ())
    for key, value in items:
        yield path + (key,)
        yield from places(value, path + (key,))


def edited(text, path, value):
    entry = json.loads(text)
    inner = entry
    for key in path[:-1]:
        inner = inner[key]
    if value is DELETED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(entry)


class Edits(unittest.TestCase):
    def check(self, verb, *arguments):
        numbers = dice()
        with folder() as place:
            journal, out = place / "journal", place / "out.json"
            command = (verb, *arguments, *CPU, "--repeat", 1, "--resume", journal)
            result = run(*command)
            self.assertEqual(result.returncode, DONE, result.stderr)
            lines = journal.read_text().splitlines()
            edits = [(line, path, value) for line in range(1, len(lines))
                     for path in places(json.loads(lines[line])) for value in (*VALUES, DELETED)]
            if not thorough():
                edits = numbers.sample(edits, 30)
            edits += [(1, ("turn", "sample", *path), value) for path, value in KNOWN[verb]]
            refused = 0
            for line, path, value in edits:
                with self.subTest(path=path, value=value):
                    changed = [*lines[:line], edited(lines[line], path, value), *lines[line + 1:]]
                    journal.write_text("\n".join(changed) + "\n")
                    result = run(*command, "--json", out)
                    if out.exists():
                        found = json.loads(out.read_text())
                        out.unlink()  # not to be found again by what comes after a failure
                        self.assertEqual(violations(found, verb), [])
                    else:
                        self.assertEqual(result.returncode, USAGE, result.stderr)
                        self.assertRegex(result.stderr, "is damaged|is no journal")
                        refused += 1
            self.assertGreater(refused, len(KNOWN[verb]) - 1)
            print(f"{verb}: {len(edits)} edits, {refused} refused")

    def test_compare(self):
        self.check("compare", "gen:soup:60", "-a", "atomicmalloc,cmalloc", "--heap-map",
                   "--minimal-pool")

    def test_the_pool_of_a_replay(self):
        """A default pool is noted in the header, and adopted from there."""
        with folder() as place:
            trace, journal = place / "x.trace", place / "journal"
            self.assertEqual(build("gen:soup:60", "--repeat", 1, "--trace", trace).returncode, DONE)
            command = ("replay", trace, *CPU, "-a", "halloc", "--repeat", 1, "--resume", journal)
            self.assertEqual(run(*command).returncode, DONE)
            header, *turns = journal.read_text().splitlines()
            for value in (0, -1, 0.5, None, "x", [], 2**64, DELETED):
                for rest in ([], turns):
                    with self.subTest(value=value, turns=len(rest)):
                        changed = edited(header, ("adopted", "pool_bytes"), value)
                        journal.write_text("\n".join([changed, *rest]) + "\n")
                        result = run(*command)
                        self.assertEqual(result.returncode, USAGE, result.stderr)
                        self.assertRegex(result.stderr, "is damaged|is no journal")

    def test_bench(self):
        self.check("bench", "ad", "acd", "--quick", "-a", "halloc")

    def test_replay(self):
        with folder() as place:
            trace = place / "x.trace"
            self.assertEqual(build("gen:soup:60", "--repeat", 1, "--trace", trace).returncode, DONE)
            self.check("replay", trace, "-a", "halloc")


if __name__ == "__main__":
    unittest.main()
