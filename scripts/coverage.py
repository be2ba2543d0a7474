#!/usr/bin/env python3
"""Shows which share of the lines of each folder the tests run, and fails if that is too small.

    scripts/coverage.py summary.json

The file is what `gcovr --json-summary` writes; `scripts/test --coverage` makes it. A line counts
where a compiler for CPUs made code of it: device code does not, nor does a template or an inline
function that nothing uses.

Exit codes: 0 each of allocators, kdtree and scenes has 90 % or more, 1 one of them has less, 2
wrong usage, or a file that cannot be used.
"""

import collections
import json
import sys

from figures import program

FOLDERS = ("allocators", "kdtree", "scenes")
LEAST = 90  # per cent of the lines of each of these
POOR = 80  # per cent; files with less are named


class SummaryError(Exception):
    """A file that cannot be used; the text says which, why, and what to do."""


def read(path):
    """{file: (lines that ran, lines)} of a summary. @raise SummaryError."""
    remedy = "give what 'gcovr --json-summary' writes, or call 'scripts/test --coverage'"
    try:
        with open(path, encoding="utf-8") as file:
            files = json.load(file)["files"]
        counts = {f["filename"]: (int(f["line_covered"]), int(f["line_total"])) for f in files}
    except OSError as error:
        raise SummaryError(f"{path}: cannot be read: {error.strerror}; {remedy}") from error
    except json.JSONDecodeError as error:
        raise SummaryError(f"{path}:{error.lineno}: is not JSON: {error.msg}; {remedy}") from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise SummaryError(f"{path}: is no summary of gcovr; {remedy}") from error
    for folder in FOLDERS:
        if not any(name.startswith(folder + "/") and counts[name][1] > 0 for name in counts):
            raise SummaryError(f"{path}: has no lines of {folder}/; {remedy}")
    return counts


def percent(ran, lines):
    """The share, cut rather than rounded: 89.99 is not 90."""
    return f"{1000 * ran // lines / 10:.1f} %" if lines else "–"


def by_folder(counts):
    """{folder: (lines that ran, lines)}: a file counts for every folder that it is in."""
    sums = collections.defaultdict(lambda: (0, 0))
    for name, (ran, lines) in counts.items():
        parts = name.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            sums[folder] = (sums[folder][0] + ran, sums[folder][1] + lines)
    return dict(sorted(sums.items()))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stdout if sys.argv[1:] in (["-h"], ["--help"]) else sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else program.FAILED
    try:
        counts = read(sys.argv[1])
    except SummaryError as error:
        print(f"coverage: error: {program.printable(error)}", file=sys.stderr)
        return program.FAILED
    rows = by_folder(counts)
    poor = {n: c for n, c in sorted(counts.items()) if 100 * c[0] < POOR * c[1]}
    rows, poor = ({program.printable(n): c for n, c in some.items()} for some in (rows, poor))
    width = max(len(name) for name in [*rows, *poor])

    def show(name, ran, lines):
        print(f"{name:{width}}  {ran:7,} of {lines:7,} lines  {percent(ran, lines):>7}")

    for folder, (ran, lines) in rows.items():
        show(folder, ran, lines)
    if poor:
        print(f"\nFiles below {POOR} %:")
        for name, (ran, lines) in poor.items():
            show(name, ran, lines)
    short = [name for name in FOLDERS if 100 * rows[name][0] < LEAST * rows[name][1]]
    for name in short:
        print(f"coverage: the tests run less than {LEAST} % of the lines of {name}/: add tests of "
              "what the table above names", file=sys.stderr)
    return 1 if short else 0


if __name__ == "__main__":
    program.run("coverage", main)
