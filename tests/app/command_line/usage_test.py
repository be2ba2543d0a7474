"""The command line: help, version, mistakes, the environment, and where output goes."""

import copy
import csv
import io
import json
import pathlib
import unittest

from command_line import (
    DONE, INTERNAL, MODELS, NO_DEVICE, OUT_OF_MEMORY, USAGE, allocators, build, folder, run,
)
from schemas import violations

SCENE = "gen:sphere:200"


class Help(unittest.TestCase):
    def test_every_help_shows_examples_that_parse(self):
        for verb in ([], ["build"], ["compare"], ["bench"], ["replay"], ["render"],
                     ["inspect"], ["list"]):
            result = run(*verb, "--help")
            self.assertEqual(result.returncode, DONE)
            self.assertEqual(result.stderr, "")
            examples = result.stdout.split("Examples:")[1].splitlines()
            examples = [line.split() for line in examples if line.startswith("  heapwood ")]
            self.assertTrue(examples)
            for _, *arguments in examples:
                # Appending an unknown option stops the program after it has read all the rest.
                answer = run(*arguments, "--no-such-option")
                self.assertEqual(answer.returncode, USAGE)
                self.assertIn("--no-such-option", answer.stderr)
                self.assertEqual(answer.stderr.count("\n"), 2, answer.stderr)

    def test_the_scene_of_the_first_example_is_there(self):
        scene = run("--help").stdout.split("heapwood build ")[1].split()[0]
        self.assertTrue((MODELS.parents[1] / scene).is_file(), scene)

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, DONE)
        self.assertRegex(result.stdout, r"^heapwood \d+\.\d+\.\d+ \(git \S+, .+\)\n$")


class Mistakes(unittest.TestCase):
    """Each with the words that the message must have; the exit code is 2, stdout stays empty."""

    def check(self, words, *arguments, env=None):
        with self.subTest(arguments=arguments, env=env):
            result = run(*arguments, env=env)
            self.assertEqual(result.returncode, USAGE, result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"^heapwood: error: ")
            for word in words:
                self.assertIn(word, result.stderr)

    def test_verbs(self):
        self.check(["required"])
        self.check(["'bild'", "build, compare, bench, replay, trace, render, inspect, list", "did you mean 'build'?"],
                   "bild", SCENE)
        self.check(["SCENE is required"], "build")
        self.check(["not expected", "other"], "build", SCENE, "other")
        self.check(["--nonsense"], "build", SCENE, "--nonsense")

    def test_allocator(self):
        names = allocators()
        self.check([*names, "did you mean 'cmalloc'?"], "build", SCENE, "--allocator", "cmaloc")
        self.check([*names, "'qwertyuiop'"], "build", SCENE, "-a", "cmalloc,qwertyuiop")

    def test_pool(self):
        for size in ("0x", "0MiB", "-1", "-1x", "abc", "20", "20X", "20 x", "1e3x", "nanx", "infx",
                     "20MB", "1.3.4x", ".x", "x", "1.5B", "99999999999GiB", "0x10"):
            self.check(["--pool", f"'{size}'", "20x", "512MiB"], "build", SCENE, f"--pool={size}")
        self.check(["--pool"], "build", SCENE, "--pool", "")
        self.check(["--pool"], "build", SCENE, "--pool=")
        self.check(["--pool", "no machine"], "build", SCENE, "--pool", "99999999999999x")

    def test_numbers(self):
        for option in ("--repeat", "--threads", "--warm-up", "--leaf-limit", "--exact-limit",
                       "--large-limit", "--chunk", "--max-nodes", "--max-references", "--planes",
                       "--snap-limit"):
            for value in ("-1", "1.5", "many", "99999999999999999999", "010", "0x10"):
                self.check([option, f"'{value}'"], "build", SCENE, f"{option}={value}")
        for option in ("--traversal-cost", "--intersection-cost", "--empty-bonus", "--depth-base",
                       "--depth-factor", "--leaf-area", "--bad-split-ratio", "--bad-splits",
                       "--bad-splits-per-level", "--hopeless-ratio"):
            below = () if option.startswith("--depth") else ("-1",)
            for value in (*below, "nan", "inf", "1e999", "much"):
                self.check([option, f"'{value}'"], "build", SCENE, f"{option}={value}")
        self.check(["--repeat"], "build", SCENE, "--repeat", "")
        self.check(["--repeat"], "build", SCENE, "--repeat=")
        self.check(["--repeat"], "build", SCENE, "--repeat", "0")
        self.check(["--empty-bonus"], "build", SCENE, "--empty-bonus", "0")
        self.check(["--empty-bonus"], "build", SCENE, "--empty-bonus", "1.01")
        self.check(["--planes", "3 to 93"], "build", SCENE, "--planes", "2")
        self.check(["--planes", "3 to 93"], "build", SCENE, "--planes", "94")
        self.check(["--snap-limit"], "build", SCENE, "--snap-limit", "65536")
        self.check(["large_limit"], "build", SCENE, "--large-limit", "10", "--exact-limit", "20")

    def test_names(self):
        self.check(["--preset", "'best'", "default, paper, pbrt"], "build", SCENE, "--preset", "best")
        self.check(["--empty-rule", "'all'", "pays, tests, whole"], "build", SCENE,
                   "--empty-rule", "all")
        self.check(["--preset", "'cpu'"], "build", SCENE, env={"HEAPWOOD_TREE_PRESET": "cpu"})

    def test_contradictions(self):
        self.check(["--csv", "--markdown"], "build", SCENE, "--csv", "--markdown")
        self.check(["--json -", "--csv"], "build", SCENE, "--csv", "--json", "-")
        self.check(["--json -", "--markdown"], "list", "--markdown", "--json", "-")
        self.check(["--quiet", "--verbose"], "build", SCENE, "-q", "-v")
        self.check(["'tpu'", "auto, cpu, cuda, gpu"], "build", SCENE, "--device", "tpu")
        self.check(["'small'", "every, large"], "build", SCENE, "--arrays", "small")
        self.check(["--page", "5000", "4096"], "build", SCENE, "--page", "5000")

    def test_json_target_is_checked_before_the_build(self):
        # A scene that cannot be loaded shows that nothing was tried before the check.
        self.check(["/no/such/folder/x.json", "No such file", "name a file in a folder"], "build",
                   "missing.obj", "--json", "/no/such/folder/x.json")
        with folder() as place:
            self.check([str(place)], "build", "missing.obj", "--json", place)

    def test_environment(self):
        self.check(["--pool (HEAPWOOD_POOL): '0x'"], "build", SCENE, env={"HEAPWOOD_POOL": "0x"})
        self.check(["--pool: '0x'"], "build", SCENE, "-p0x", env={"HEAPWOOD_POOL": "20x"})
        self.check(["--verify (HEAPWOOD_VERIFY): 'maybe'"], "build", SCENE,
                   env={"HEAPWOOD_VERIFY": "maybe"})
        self.check(["'nosuch'"], "build", SCENE, env={"HEAPWOOD_ALLOCATOR": "cmalloc,nosuch"})


    def test_lists_that_compare_takes(self):
        """A variable of a shell in which compare is used, too, in verbs that take one value."""
        for verb in (("build", SCENE), ("trace", SCENE), ("render", SCENE, "-o", "x.png"),
                     ("inspect", SCENE), ("replay", "any.trace")):
            self.check(["--pool (HEAPWOOD_POOL): '200x,20x' is a list",
                        f"{verb[0]} takes one pool; choose one, as --pool 200x"],
                       *verb, env={"HEAPWOOD_POOL": "200x,20x"})
        recorded = ("build", SCENE, "--trace", "x.trace")
        for verb in (("render", SCENE, "-o", "x.png"), ("inspect", SCENE), recorded):
            what = "--trace records" if verb is recorded else f"{verb[0]} needs one tree"
            self.check(["--allocator (HEAPWOOD_ALLOCATOR) names 2 allocators", what,
                        "--allocator halloc"], *verb, env={"HEAPWOOD_ALLOCATOR": "halloc,hybrid"})
            self.check(["--method (HEAPWOOD_METHOD) names both methods", what, "--method single"],
                       *verb, env={"HEAPWOOD_METHOD": "single,levels"})
            self.check(["--method names both methods"], *verb, "-m", "levels,single")
        result = run("inspect", SCENE, "-q", "-p", "200x", "-a", "halloc", "-m", "single",
                     env={"HEAPWOOD_POOL": "200x,20x", "HEAPWOOD_ALLOCATOR": "halloc,hybrid",
                          "HEAPWOOD_METHOD": "single,levels"})
        self.assertEqual(result.returncode, DONE, result.stderr)


class Environment(unittest.TestCase):
    def test_a_variable_without_effect_is_named(self):
        for env, option, name in (({}, ("--page", 8192), "--page"),
                                  ({"HEAPWOOD_PAGE": "8192"}, (), "--page (HEAPWOOD_PAGE)")):
            result = build(SCENE, "-a", "atomicmalloc", "--repeat", 1, *option, env=env)
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertIn(f"warning: {name} has no effect: it is for scatteralloc", result.stderr)

    def test_is_obeyed_and_the_command_line_wins(self):
        env = {"HEAPWOOD_ALLOCATOR": "atomicmalloc,cmalloc", "HEAPWOOD_CSV": "true",
               "HEAPWOOD_DEVICE": "cpu", "HEAPWOOD_REPEAT": "1"}
        rows = run("build", SCENE, env=env).stdout.splitlines()
        self.assertEqual(len(rows), 3)
        # This one is for scripts/heapwood, and stands in its environment.
        env["HEAPWOOD_PRESET"] = "cpu"
        rows = run("build", SCENE, "--allocator", "cudamalloc", env=env).stdout.splitlines()
        self.assertEqual(len(rows), 2)
        self.assertIn(",cudamalloc,", rows[1])


class Devices(unittest.TestCase):
    def test_gpu_that_is_not_there(self):
        # An empty list of visible devices hides a GPU from the CUDA runtime.
        result = run("build", SCENE, "--device", "gpu", env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(result.returncode, NO_DEVICE, result.stderr)
        self.assertIn("no GPU to build on: ", result.stderr)

    def test_auto_falls_back_to_the_cpu_and_says_so(self):
        result = run("build", SCENE, "-v", env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertIn("CPU: ", result.stdout)
        self.assertIn("building on the CPU: ", result.stderr)


class Streams(unittest.TestCase):
    def test_results_to_stdout_and_nothing_else_anywhere(self):
        for options in ([], ["--csv"], ["--markdown"], ["--json", "-"]):
            result = build(SCENE, "--repeat", 1, *options)
            self.assertEqual(result.returncode, DONE)
            self.assertEqual(result.stderr, "", "no progress and no notes into a file")
            self.assertIn(SCENE, result.stdout)

    def test_json_alone_on_stdout_even_when_an_allocator_fails(self):
        result = build(SCENE, "--pool", "5KiB", "--json", "-")
        self.assertEqual(result.returncode, OUT_OF_MEMORY)
        self.assertEqual(json.loads(result.stdout)["results"][0]["outcome"], "pool_exhausted")
        self.assertIn("heapwood: error: cambium: ", result.stderr)

    def test_json_file_beside_the_table(self):
        with folder() as place:
            path = place / "report.json"
            path.write_text("old")
            result = build(SCENE, "--repeat", 1, "--json", path)
            self.assertEqual(result.returncode, DONE)
            self.assertIn("T_build", result.stdout)
            self.assertEqual(json.loads(path.read_text())["schema"], 1)

    def test_json_file_of_a_failed_call_is_as_before(self):
        with folder() as place:
            old = place / "old.json"
            old.write_text("old")
            build("missing.obj", "--json", old)
            build("missing.obj", "--json", place / "new.json")
            self.assertEqual([p.name for p in place.iterdir()], ["old.json"])
            self.assertEqual(old.read_text(), "old")

    def test_verbosity(self):
        self.assertIn("debug", build(SCENE, "-v").stderr)
        self.assertEqual(build(SCENE, "-q").stderr, "")
        self.assertIn("error", build("missing.obj", "-q").stderr)
        self.assertIn("{0}%v{", build("{0}%v{.obj").stderr, "messages are no formats")

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "needs a full device")
    def test_lost_results_are_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = build(SCENE, stdout=full)
        self.assertEqual(result.returncode, INTERNAL)
        self.assertIn("could not be written", result.stderr)
        self.assertEqual(build(SCENE, "--json", "/dev/full").returncode, INTERNAL)


class Formats(unittest.TestCase):
    """Every verb has every format, and no text is wider than 100 columns."""

    def test_every_verb_in_every_format(self):
        cpu = ("--device", "cpu", "--repeat", 1, "-a", "atomicmalloc,hybrid")
        with folder() as place:
            trace = place / "x.trace"
            build(SCENE, "-a", "hybrid", "--repeat", 1, "--trace", trace)
            for verb in (("build", SCENE, *cpu), ("compare", SCENE, "gen:hair:300", *cpu),
                         ("bench", "all", "--quick", *cpu), ("replay", trace, *cpu), ("list",)):
                for options in ((), ("--details",) if verb[0] == "build" else ("-q",)):
                    lines = run(*verb, *options).stdout.splitlines()
                    self.assertGreater(len(lines), 5, verb)
                    self.assertLessEqual(max(map(len, lines)), 100, max(lines, key=len))
                rows = list(csv.reader(io.StringIO(run(*verb, "--csv").stdout)))
                self.assertGreater(len(rows), 1, verb)
                self.assertEqual({len(row) for row in rows}, {len(rows[0])}, verb)
                self.assertEqual(len(set(rows[0])), len(rows[0]), "each heading once")
                self.assertIn("| --- |", run(*verb, "--markdown").stdout)
                latex = run(*verb, "--latex").stdout
                self.assertGreater(latex.count("\\begin{tabular}"), 1, verb)
                self.assertEqual(latex.count("\\begin{"), latex.count("\\end{"))
                page = place / "x.html"
                found = json.loads(run(*verb, "--html", page, "--json", "-").stdout)
                held = page.read_text().split('<script id="results" type="application/json">')[1]
                shown = json.loads(held.split("</script")[0])
                self.assertEqual(shown["data"], found)
                self.assertEqual(shown["title"], "heapwood " + verb[0])
                self.assertGreater(len(shown["tables"]), 1)

    def test_a_cell_of_csv_is_no_formula(self):
        with folder() as place:
            for name in ("=1+1.obj", "+a.obj", "-a.obj", "@a.obj"):
                (place / name).write_bytes((MODELS / "gem.obj").read_bytes())
                result = run("compare", "--device", "cpu", "--repeat", 1, "-a", "cmalloc", "--csv",
                             "--", name, cwd=place)
                self.assertEqual(result.returncode, DONE, result.stderr)
                rows = list(csv.DictReader(io.StringIO(result.stdout)))
                self.assertEqual(rows[0]["scene"], "'" + name)
                for cell in rows[0].values():
                    self.assertNotRegex(cell, r"\A[=@+]|\A-[^0-9]")

    def test_a_minimal_pool_is_shown_if_asked_for(self):
        options = (SCENE, "-a", "cmalloc,hybrid", "--repeat", 1)
        self.assertNotIn("minimal pool", build(*options).stdout)
        for more in ((), ("--details",)):
            result = build(*options, "--minimal-pool", *more)
            self.assertEqual(result.returncode, DONE, result.stderr)
            heading = next(line for line in result.stdout.splitlines() if "minimal pool" in line)
            rows = result.stdout.split(heading)[1].splitlines()[1:3]
            for row, name in zip(rows, ("cmalloc", "hybrid")):
                self.assertRegex(row, rf"^{name} .* [0-9.]+ KiB, [0-9.]+x$")

    def test_a_build_is_a_screenful(self):
        for allocators in ("hybrid", "atomicmalloc,cmalloc,halloc,hybrid"):
            lines = build(SCENE, "-a", allocators).stdout.splitlines()
            self.assertLessEqual(len(lines), 24)
            self.assertLess(len(lines) + 20, len(
                build(SCENE, "-a", allocators, "--details").stdout.splitlines()))


class List(unittest.TestCase):

    def test_json_is_by_the_schema(self):
        listing = json.loads(run("list", "--json", "-").stdout)
        self.assertEqual(violations(listing, "list"), [])
        for spoil in (
            lambda l: l.update(schema=2),
            lambda l: l.pop("devices"),
            lambda l: l["allocators"][0].update(full=None),
            lambda l: l["allocators"][0].update(devices=["tpu"]),
            lambda l: l["allocators"][0]["published_registers"].update(coalesced=0),
            lambda l: l["allocators"][0].update(registers={"architecture": "90"}),
            lambda l: l["devices"][0].update(units=0),
            lambda l: l["generators"].clear(),
        ):
            wrong = copy.deepcopy(listing)
            spoil(wrong)
            self.assertNotEqual(violations(wrong, "list"), [])

    def test_json_and_tables_agree(self):
        listing = json.loads(run("list", "--json", "-").stdout)
        for form in ([], ["--markdown"], ["--csv"]):
            table = run("list", *form).stdout
            for allocator in listing["allocators"]:
                self.assertIn(allocator["name"], table)
                # Long cells go on on the next line, and Markdown has escapes.
                self.assertIn("".join(allocator["source"].split()),
                              "".join(table.split()).replace('"', "").replace("\\", ""))
        names = {entry["name"]: entry for entry in listing["allocators"]}
        self.assertFalse(names["atomicmalloc"]["full"])
        self.assertTrue(names["cmalloc"]["sound"])
        self.assertEqual(names["atomicmalloc"]["header_bytes"], 0)
        self.assertIsNone(names["cudamalloc"]["header_bytes"])
        self.assertFalse(names["cudamalloc"]["remade"])
        self.assertFalse(names["cmalloc-published"]["sound"])
        self.assertTrue(names["cmalloc"]["frees_individually"])
        self.assertIn("cpu", names["cmalloc"]["devices"])
        self.assertEqual(listing["devices"][0]["device"], "cpu")

    def test_every_generator_builds(self):
        listing = json.loads(run("list", "--json", "-").stdout)
        self.assertGreaterEqual(len(listing["generators"]), 9)
        for generator in listing["generators"]:
            result = build(f"gen:{generator['name']}:300", "--repeat", 1, "--verify")
            self.assertEqual(result.returncode, DONE, result.stderr)


if __name__ == "__main__":
    unittest.main()
