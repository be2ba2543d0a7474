"""Runs in shards, put together: the same results as in one go, and every mistake named."""

import json
import lzma
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import unittest

import schema_check
from command_line import (
    BAD_INPUT, DONE, EXECUTABLE, FAKES, INTERRUPTED, OUT_OF_MEMORY, USAGE, build, environment,
    folder, run,
)
from resume_test import interrupt

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
COMMON = ("--device", "cpu", "--threads", "1")
COMPARE = ("compare", *COMMON, "gen:city:300", "gen:soup:200", "-a", "atomicmalloc,halloc,buddy",
           "--pool", "200x,1x", "--repeat", "2", "--warm-up", "0", "--verify", "--minimal-pool")
BENCH = ("bench", *COMMON, "ad", "init", "registers", "--quick", "-a", "cmalloc,buddy",
         "--time-limit", "600")
SMALL = ("compare", *COMMON, "gen:soup:200", "-a", "atomicmalloc,buddy", "--repeat", "1")
FORMATS = ((), ("--csv",), ("--markdown",), ("--latex",))


def check_schema(test, found, kind):
    schema = json.loads((schema_check.SCHEMAS / f"{kind}.schema.json").read_text())
    test.assertEqual(schema_check.violations(found, schema), [])


def shard_file(place, arguments, number, of, **options):
    """The file of a shard that is run."""
    path = place / f"shard{number}of{of}.json"
    result = run(*arguments, "--shard", f"{number}/{of}", "--json", path, **options)
    assert result.returncode == DONE, result.stderr
    assert f"{number} of {of}" in result.stdout
    return path


def shard_files(place, arguments, of, **options):
    return [shard_file(place, arguments, number, of, **options) for number in range(1, of + 1)]


def without_origin(document):
    """The document but for arguments, dates, and which shard measured what."""
    plain = json.loads(json.dumps(document))
    plain.pop("shards", None)
    for cell in plain.get("cells", plain.get("results")):
        cell.pop("shard", None)
    del plain["provenance"]["arguments"], plain["provenance"]["date"]
    return plain


def without_times(value):
    """What does not change from run to run: no fraction does, and no winner."""
    if isinstance(value, dict):
        return {key: key if key == "fastest_full" else without_times(member)
                for key, member in value.items()}
    if isinstance(value, list):
        return [without_times(member) for member in value]
    return "fraction" if isinstance(value, float) else value


class Merged(unittest.TestCase):
    maxDiff = 4000

    def check(self, place, kind, arguments, code=DONE):
        journal, out = place / "journal", place / "all.json"
        whole = run(*arguments, "--resume", journal, "--json", out)
        self.assertEqual(whole.returncode, code, whole.stderr)
        whole = json.loads(out.read_text())
        entries = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
        for of in (1, 2, 3, 7):
            files = shard_files(place, arguments, of)
            self.check_merged(place, kind, arguments, code, whole, files)
            # With the turns of the run in one go every figure has to be the same.
            owners = {}
            for file in files:
                found = json.loads(file.read_text())
                mine = {entry["cell"] for entry in found["turns"]}
                self.assertFalse(mine & set(owners), "a cell of two shards")
                owners.update(dict.fromkeys(mine, found["shard"]["number"]))
                found["turns"] = [entry for entry in entries if entry["cell"] in mine]
                file.write_text(json.dumps(found))
            self.assertEqual(set(owners), {entry["cell"] for entry in entries})
            merged = self.merge(place, files, code)
            self.assertEqual(without_origin(merged), without_origin(whole))
            cells = merged.get("cells", merged.get("results"))
            for number, owner in owners.items():
                self.assertEqual(cells[number]["shard"], owner)
            for form in FORMATS if of == 3 else ():
                same = run(*arguments, "--resume", journal, *form)
                self.assertEqual(run("merge", *files[::-1], *form).stdout, same.stdout)
        return files, whole

    def check_merged(self, place, kind, arguments, code, whole, files):
        for file in files:
            check_schema(self, json.loads(file.read_text()), "shard")
        merged = self.merge(place, files, code)
        check_schema(self, merged, kind)
        self.assertEqual(merged["provenance"]["arguments"], [EXECUTABLE, *map(str, arguments)])
        self.assertEqual([origin["number"] for origin in merged["shards"]],
                         list(range(1, len(files) + 1)))
        for origin, file in zip(merged["shards"], files):
            self.assertIn(str(file), origin["arguments"])
            self.assertEqual(origin["host"], os.uname().nodename)
        self.assertEqual(without_times(without_origin(merged)),
                         without_times(without_origin(whole)))

    def merge(self, place, files, code):
        result = run("merge", *files, "--json", place / "merged.json")
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads((place / "merged.json").read_text())

    def test_compare(self):
        with folder() as place:
            files, whole = self.check(place, "compare", COMPARE, OUT_OF_MEMORY)
            page = place / "page.html"
            run("merge", *files, "--html", page)
            self.assertIn(whole["cells"][0]["tree"]["digest"], page.read_text())
            self.check_scripts(place, files[0])

    def check_scripts(self, place, one):
        lacks = subprocess.run([sys.executable, "-c", "import matplotlib, pandas, rich, typer"],
                               stderr=subprocess.DEVNULL, check=False).returncode
        if lacks:
            return  # the tests of the scripts say so
        for script, *more in (("compare.py", place / "all.json"),
                              ("plot.py", "--out", place / "figures", "--format", "svg")):
            result = subprocess.run([sys.executable, SCRIPTS / script, place / "merged.json", *more],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                    encoding="utf-8")
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertIn("12 cells" if script == "compare.py" else "slowdown", result.stdout)
        result = subprocess.run([sys.executable, SCRIPTS / "plot.py", one], stderr=subprocess.PIPE,
                                check=False, encoding="utf-8")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("'heapwood merge' makes results of all shard files", result.stderr)

    def test_bench(self):
        with folder() as place:
            self.check(place, "bench", BENCH)

    def test_replay(self):
        with folder() as place:
            trace = place / "x.trace"
            self.assertEqual(build("gen:city:300", "--threads", 1, "--repeat", 1, "--trace",
                                   trace).returncode, DONE)
            self.check(place, "replay", ("replay", *COMMON, trace, "-a",
                                         "atomicmalloc,cmalloc,buddy,halloc", "--repeat", "2"))

    def test_neither_scenes_nor_their_folder_are_needed(self):
        with folder() as place:
            scene = place / "a b.obj"
            scene.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
            files = shard_files(place, ("compare", *COMMON, scene, "-a", "atomicmalloc,halloc"), 2)
            scene.unlink()
            packed = files[0].with_suffix(".xz")
            packed.write_bytes(lzma.compress(files[0].read_bytes()))
            self.assertEqual(run("merge", packed, files[1]).returncode, DONE)

    def test_budgets_are_those_of_one_run(self):
        arguments = ("compare", *COMMON, "gen:soup:300", "gen:soup:200", "-a",
                     "atomicmalloc,lingers", "--pool", "200x,100x", "--repeat", "2", "--warm-up",
                     "0", "--budget", "0.05")
        with folder() as place:
            whole = json.loads(run(*arguments, "--json", "-", executable=FAKES).stdout)
            files = shard_files(place, arguments, 3, executable=FAKES)
            result = run("merge", *files, "--json", "-", executable=FAKES)
            merged = json.loads(result.stdout)
            self.assertEqual([cell["outcome"] for cell in merged["cells"]].count("skipped"), 2)
            for key in ("outcome", "message"):
                self.assertEqual([cell[key] for cell in merged["cells"]],
                                 [cell[key] for cell in whole["cells"]])


class Lost(unittest.TestCase):
    def test_a_shard_that_lacks_is_named_with_its_command_line(self):
        with folder() as place:
            program = os.path.abspath(EXECUTABLE)
            arguments = ("-q", "compare", *COMMON, "gen:soup:200", "-a", "atomicmalloc,buddy",
                         "--pool", "100x", "--warm-up=0")
            one = place / "one.json"
            shard = run(*arguments, f"--json={one}", "--shard=1/3", executable=program,
                        env={"HEAPWOOD_REPEAT": "3"})
            self.assertEqual(shard.returncode, DONE, shard.stderr)
            result = run("merge", one, executable=program)
            self.assertEqual(result.returncode, USAGE)
            self.assertEqual(result.stdout, "")
            commands = re.findall(r"shard (\d) of 3 is missing; call: (.*)", result.stderr)
            self.assertEqual([number for number, _ in commands], ["2", "3"])
            for _, command in commands:
                subprocess.run(command, shell=True, check=True, cwd=place, env=environment(),
                               stdout=subprocess.DEVNULL)
            names = [one, place / "shard-2-of-3.json", place / "shard-3-of-3.json"]
            merged = run("merge", *names, "--json", "-", executable=program,
                         env={"HEAPWOOD_REPEAT": "9"})
            self.assertEqual(merged.returncode, DONE, merged.stderr)
            for cell in json.loads(merged.stdout)["cells"]:
                self.assertEqual(len(cell["build"]["ms"]["samples"]), 3)

    def test_one_machine_takes_the_turns_that_lack(self):
        with folder() as place:
            one = shard_file(place, SMALL, 1, 2)
            journal, out = place / "rest", place / "all.json"
            result = run("merge", one, "--resume", journal)
            self.assertEqual(result.returncode, DONE, result.stderr)
            again = run("merge", one, "--resume", journal)
            self.assertEqual(again.returncode, USAGE)
            self.assertIn("is there already: name a new file", again.stderr)
            command = shlex.split(result.stdout)
            subprocess.run([*command, "--json", out], check=True, env=environment(),
                           stdout=subprocess.DEVNULL)
            cells = json.loads(out.read_text())["cells"]
            self.assertEqual([cell["outcome"] for cell in cells], ["done", "done"])
            (first,) = json.loads(one.read_text())["turns"]
            self.assertEqual(cells[0]["build"]["ms"]["samples"],
                             first["turn"]["sample"]["build"]["ms"]["samples"])

    def test_a_shard_that_was_interrupted_goes_on(self):
        arguments = ("bench", "acd", *COMMON, "--quick", "--repeat", "150", "--time-limit", "600",
                     "-a", "cmalloc,buddy")
        with folder() as place:
            one, two = shard_file(place, arguments, 1, 2), place / "two.json"
            mine = (*arguments, "--shard", "2/2", "--json", two)
            code, errors = interrupt(place / "two.json.partial", mine, signal.SIGINT)
            self.assertEqual(code, INTERRUPTED, errors)
            check_schema(self, json.loads(two.read_text()), "shard")
            result = run("merge", one, two)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn("shard 2 of 2 was interrupted", result.stderr)
            other = run(*arguments, "--shard", "1/2", "--json", place / "x", "--resume",
                        place / "two.json.partial")
            self.assertEqual(other.returncode, USAGE)
            self.assertIn("is of another run, which differs in: shard;", other.stderr)
            again = run(*mine, "--resume", place / "two.json.partial")
            self.assertEqual(again.returncode, DONE, again.stderr)
            self.assertEqual(run("merge", one, two).returncode, DONE)


class Mistakes(unittest.TestCase):
    def refused(self, code, words, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertNotIn("json.exception", result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_no_shard(self):
        for text in ("0/3", "4/3", "a/b", "2", "/", "1/0", "-1/2", "1/2/3", "1.5/2", "1/9999999"):
            self.refused(USAGE, ["--shard", f"'{text}' is no shard I/N, with I from 1 to N"],
                         *SMALL, "--json", "-", f"--shard={text}")
        self.refused(USAGE, ["--shard needs --json FILE"], *SMALL, "--shard", "1/2")
        for form in ("--csv", "--markdown", "--latex", "--html=page.html"):
            self.refused(USAGE, ["'heapwood merge' makes tables"], *SMALL, "--shard", "1/2",
                         "--json", "x.json", form)
        self.refused(USAGE, ["FILE"], "merge")

    def test_of_different_runs(self):
        with folder() as place:
            one, two = shard_files(place, SMALL, 2)
            others = place / "others"
            others.mkdir()
            for change, word in (({"1": "2"}, "repeat, arguments"),
                                 ({"gen:soup:200": "gen:soup:201"}, "scenes, arguments, input"),
                                 ({"atomicmalloc,buddy": "buddy,halloc"}, "allocators, arguments")):
                other = shard_file(others, [change.get(word, word) for word in SMALL], 2, 2)
                self.refused(USAGE, [f"'{other}' is of another run than '{one}'", word, "call:"],
                             "merge", one, other)
            third = shard_file(others, SMALL, 2, 3)
            self.refused(USAGE, ["they differ in number of shards"], "merge", one, third)
            self.refused(USAGE, [f"'{two}' and '{place / 'copy'}' are both of shard 2"],
                         "merge", one, two, self.copy(two, place / "copy"))
            # The same command line, but the file has changed meanwhile.
            scene = place / "x.obj"
            of_file = [scene if word == "gen:soup:200" else word for word in SMALL]
            scene.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
            before = shard_file(others, of_file, 1, 2)
            scene.write_text("v 0 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 3\n")
            self.refused(USAGE, ["they differ in scenes"], "merge", before,
                         shard_file(others, of_file, 2, 2))

    @staticmethod
    def copy(source, target, **changes):
        target.write_text(json.dumps({**json.loads(source.read_text()), **changes}))
        return target

    def test_other_machines_and_programs(self):
        with folder() as place:
            one, two = shard_files(place, SMALL, 2)
            found = json.loads(two.read_text())
            other = self.copy(two, place / "x", machine={**found["machine"], "name": "another"})
            self.refused(USAGE, ["they differ in device"], "merge", one, other)
            runs = {**found["run"], "version": "0.0.1"}
            self.refused(USAGE, ["they differ in version"], "merge", one,
                         self.copy(two, place / "x", run=runs))
            both = [self.copy(file, place / file.stem, run=runs) for file in (one, two)]
            self.refused(USAGE, ["differs in: version; merge with the program that measured"],
                         "merge", *both)

    def test_damaged(self):
        with folder() as place:
            one, two = shard_files(place, SMALL, 2)
            text = two.read_text()
            bad = place / "bad.json"
            for damage, word in ((" ", "is damaged: it is no JSON"),
                                 (text[:len(text) // 2], "is damaged: it is no JSON"),
                                 ("{}", "is no shard file"), ("[1]", "is no shard file"),
                                 ('{"kind": "compare"}', "is no shard file"),
                                 ('{"kind": "shard"}', "has another schema"),
                                 ('{"kind": "shard", "schema": 1}', "is damaged: key 'shard' not found; copy")):
                bad.write_text(damage)
                self.refused(BAD_INPUT, [f"'{bad}' {word}"], "merge", one, bad)
            bad.write_text("")
            self.refused(BAD_INPUT, [f"{bad}: is empty"], "merge", one, bad)
            self.refused(BAD_INPUT, ["none: cannot be opened"], "merge", one, place / "none")
            self.refused(BAD_INPUT, ["is a directory"], "merge", one, place)
            found = json.loads(text)
            theirs = json.loads(one.read_text())["turns"]
            slow = json.loads(json.dumps(found["turns"]))
            slow[0]["turn"]["sample"]["build"]["ms"]["samples"] = [-1]
            for turns, word in (([], "turns are missing"), (theirs, "a turn that nobody takes"),
                                (found["turns"] * 2, "a turn that nobody takes"),
                                (slow, "a figure of"), ([{"cell": 99}], "a cell that is not there"),
                                ([3], "is damaged")):
                result = run("merge", one, self.copy(two, bad, turns=turns))
                self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
                for said in (f"'{bad}' is damaged", word, "call again: ", "--shard 2/2"):
                    self.assertIn(said, result.stderr)

            swapped = self.copy(one, bad, turns=found["turns"])
            self.refused(BAD_INPUT, ["is damaged: a turn of another shard; call again: "], "merge",
                         swapped, two)

    def test_results_do_not_overwrite_shard_files(self):
        with folder() as place:
            one = shard_file(place, SMALL, 1, 1)
            self.refused(USAGE, ["the shard file"], "merge", one, "--json", one)


if __name__ == "__main__":
    unittest.main()
