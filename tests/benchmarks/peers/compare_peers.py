#!/usr/bin/env python3
"""Thirteen tasks of ray tracing by heapwood and by other libraries of Python, as a table of Markdown.

    pip install trimesh rtree embreex open3d warp-lang
    python tests/benchmarks/peers/compare_peers.py [--quick] [--library NAME]... [--task NAME]... [--out FILE]
    python tests/benchmarks/peers/compare_peers.py --device cuda --repeat 1

Each task of each library that is installed is a process of its own. A cell of the table has the time of the fastest of
--repeat calls, by the clock and (of all processors together); how many answers are wrong of those that were compared
with brute force in double precision; and by how much the process grew. A library that is slow gets fewer rays, and its
time is multiplied: "~". All run on the CPU. The animation, whose cell begins with frames a second, runs on a GPU as well:
--device cuda does that task alone, by the libraries that do it.
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile

from libraries import LIBRARIES
from tasks import FRAMES, TASKS, Inputs, Tasks

PACKAGES = {"heapwood": ["heapwood"], "open3d": ["open3d"], "embreex": ["embreex", "trimesh"],
            "trimesh": ["trimesh", "rtree"], "warp": ["warp"]}
TIME_LIMIT = 600  # seconds of a task


def resident():
    """KiB of this process's memory that are there now, and at most so far."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(name, task, arguments):
    """Does a task, and prints its figures as JSON."""
    for package in PACKAGES[name]:
        __import__(package)
    inputs = Inputs(arguments.quick, arguments.folder, arguments.device)
    before = resident()
    library = LIBRARIES[name]
    taken, wrong, judged = getattr(Tasks(inputs, library, arguments.repeat), task)()
    scaled = library.fewer > 1 and task not in ("one_ray", "hundred_rays", "load_a_mesh")
    grown = resident()[1] - max(before) if resident()[1] > before[1] else 0
    factor = library.fewer if scaled and task != "rebuild_and_trace" else 1
    print(json.dumps({"ms": taken.times(factor), "scaled": scaled, "wrong": wrong, "judged": judged, "MiB": grown / 1024,
                      "frames": FRAMES if task == "animation" else 0}))


def row_of(name, task, arguments, folder):
    """A task's figures, or why there are none."""
    if not _can(name, task):
        return None
    command = [sys.executable, "-W", "ignore", __file__, "--measure", name, task, "--folder", folder, "--repeat",
               str(arguments.repeat), "--device", arguments.device, *(["--quick"] if arguments.quick else [])]
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, encoding="utf-8",
                                timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {TIME_LIMIT} s"}
    if result.returncode != 0:
        said = result.stderr.strip().splitlines()
        return {"failed": said[-1] if said else f"exit code {result.returncode}"}
    return json.loads(result.stdout.splitlines()[-1])


def _can(name, task):
    needs = {"count_hits": "count", "all_hits": "all", "load_a_mesh": "load", "several_meshes": "several",
             "animation": "animation"}
    return hasattr(LIBRARIES[name], needs.get(task, "closest"))


def cell(figures):
    if figures is None:
        return "–"
    if "failed" in figures:
        return "failed"
    mark = "~" if figures["scaled"] else ""
    if figures["frames"]:
        mark = f"{1000 * figures['frames'] / figures['ms'][0]:,.1f} frames/s, "
    wall, cpu = (f"{ms:,.{3 if ms < 1 else 1 if ms < 10 else 0}f}" for ms in figures["ms"])
    return f"{mark}{wall} ({cpu}) ms, {figures['wrong']}/{figures['judged']}, {figures['MiB']:.0f} MiB"


def version(name):
    if name == "heapwood":
        import heapwood

        return heapwood.__version__
    return importlib.metadata.version({"warp": "warp-lang"}.get(name, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", action="append", choices=LIBRARIES, help="all that are installed")
    parser.add_argument("--task", action="append", choices=TASKS, help="all")
    parser.add_argument("--repeat", type=int, default=5, help="calls, of which the fastest counts")
    parser.add_argument("--quick", action="store_true", help="a small mesh and few rays, to try the program")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: the animation alone")
    parser.add_argument("--out", help="a file for the table; default: standard output")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help="keeps what brute force found for the next run; default: a temporary one")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        parser.error("--repeat: from 1 on")
    if arguments.folder and not os.path.isdir(arguments.folder):
        parser.error(f"--folder: there is no folder '{arguments.folder}'")
    if arguments.device == "cuda":
        if set(arguments.task or ["animation"]) != {"animation"}:
            parser.error("--device cuda: the animation alone runs on a GPU")
        arguments.task = ["animation"]
    if arguments.measure:
        return measure(*arguments.measure, arguments)
    there = [name for name in LIBRARIES if all(map(importlib.util.find_spec, PACKAGES[name]))]
    missing = sorted(set(arguments.library or []) - set(there))
    if missing or "heapwood" not in there:
        parser.error(f"not installed: {', '.join(missing) or 'heapwood'}; there are {', '.join(there) or 'none'}")
    if arguments.device == "cuda":
        there = [name for name in there if _can(name, "animation")]
    names, load = arguments.library or there, os.getloadavg()[0]
    out = open(arguments.out, "w", encoding="utf-8") if arguments.out else sys.stdout
    head = "task, but of 2,000 triangles and 20,000 rays" if arguments.quick else "task"
    print(f"| {head} | " + " | ".join(names) + " |\n| --- |" + " ---: |" * len(names), file=out, flush=True)
    with contextlib.ExitStack() as stack:
        folder = arguments.folder or stack.enter_context(tempfile.TemporaryDirectory())
        for task in arguments.task or TASKS:
            figures = {name: row_of(name, task, arguments, folder) for name in names}
            for name, found in figures.items():
                if found and "failed" in found:
                    print(f"{name}, {task}: {found['failed']}", file=sys.stderr)
            print(f"| {TASKS[task]} | " + " | ".join(map(cell, figures.values())) + " |", file=out, flush=True)
    print(f"\n{platform.processor() or platform.machine()}, {os.cpu_count()} hardware threads, load {load:.1f} at the "
          f"beginning and {os.getloadavg()[0]:.1f} at the end, {datetime.date.today()}; "
          + ", ".join(f"{name} {version(name)}" for name in names), file=out, flush=True)


if __name__ == "__main__":
    main()
