"""Runs the built executable for the tests of this folder."""

import contextlib
import json
import os
import pathlib
import random
import subprocess
import tempfile

EXECUTABLE = os.environ.get("HEAPWOOD_TEST_EXECUTABLE", "heapwood")
FAKES = os.environ.get("HEAPWOOD_TEST_FAKES", "heapwood_fakes")
MODELS = pathlib.Path(__file__).resolve().parents[3] / "scenes" / "models"

DONE, INTERNAL, USAGE, BAD_INPUT, OUT_OF_MEMORY, VERIFICATION, NO_DEVICE = 0, 1, 2, 3, 4, 5, 77
INTERRUPTED = 130


def environment(**changes):
    """This process's environment without the variables that change what the program does."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HEAPWOOD_") and name not in ("NO_COLOR", "TERM")
    }
    # The address sanitizer otherwise ends the program where malloc would return nothing.
    clean.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1")
    return {**clean, **changes}


def run(*arguments, env=None, **options):
    """Runs heapwood; the result has returncode, stdout and stderr as text."""
    return subprocess.run(
        [options.pop("executable", EXECUTABLE), *map(str, arguments)],
        env=environment(**(env or {})),
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        timeout=300,
        check=False,
        **options,
    )


def build(*arguments, **options):
    """`heapwood build` on the CPU: these tests must not depend on a GPU."""
    return run("build", "--device", "cpu", *arguments, **options)


def report(*arguments, code=DONE):
    """The JSON report of a build that must end with `code`."""
    result = build(*arguments, "--json", "-")
    if result.returncode != code:
        raise AssertionError(f"exit code {result.returncode}, not {code}: {result.stderr}")
    return json.loads(result.stdout)


def allocators():
    """The names of all allocators but the specimens."""
    listing = json.loads(run("list", "--json", "-").stdout)["allocators"]
    return [entry["name"] for entry in listing if entry["sound"]]


@contextlib.contextmanager
def folder():
    """A temporary folder as a Path."""
    with tempfile.TemporaryDirectory() as name:
        yield pathlib.Path(name)


def compare(*arguments, **options):
    """`heapwood compare` on the CPU."""
    return run("compare", "--device", "cpu", *arguments, **options)


def compared(*arguments, code=DONE, **options):
    """The JSON of a comparison that must end with `code`."""
    result = compare(*arguments, "--json", "-", **options)
    if result.returncode != code:
        raise AssertionError(f"exit code {result.returncode}, not {code}: {result.stderr}")
    return json.loads(result.stdout)


def thorough():
    """Whether tests that try a share in seconds try all of it (tests/faults/README.md)."""
    return "HEAPWOOD_TEST_ALL" in os.environ


def dice():
    """Random numbers from HEAPWOOD_TEST_SEED, or from a seed of the system's; prints it."""
    seed = int(os.environ.get("HEAPWOOD_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print(f"HEAPWOOD_TEST_SEED={seed}", flush=True)
    return random.Random(seed)
