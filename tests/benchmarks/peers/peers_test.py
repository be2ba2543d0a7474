"""The comparison with other libraries: it finds wrong answers, and heapwood and trimesh have none."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from libraries import Heapwood, Trimesh
from tasks import TASKS, Inputs, Tasks

FOLDER = pathlib.Path(__file__).parent


class WrongAnimation(Heapwood.animation):
    def end(self):
        vertices, t = super().end()
        return vertices, _off(t)


class Wrong(Heapwood):
    """Each answer is a little off, or of a neighbour."""

    animation = WrongAnimation

    def closest(self, origins, directions):
        t, primitive = super().closest(origins, directions)
        return _off(t), primitive

    def any(self, origins, directions):
        return ~super().any(origins, directions)

    def count(self, origins, directions):
        return super().count(origins, directions) + 1

    def all(self, origins, directions):
        ray, t = super().all(origins, directions)
        return np.append(ray, np.arange(len(origins))), np.append(t, np.full(len(origins), 0.5))

    def points_and_normals(self, origins, directions):
        points, normals = super().points_and_normals(origins, directions)
        return np.nan_to_num(points), np.roll(np.nan_to_num(normals, nan=1), 1, axis=1)

    def interpolate(self, origins, directions, values):
        return np.nan_to_num(super().interpolate(origins, directions, values)) + 0.01

    @classmethod
    def several(cls, meshes, transforms, origins, directions):
        t, geometry = super().several(meshes, transforms, origins, directions)
        return t, 1 - geometry


def _off(t):
    return np.where(np.isfinite(t), 1.001 * t + 0.001, 1)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return Inputs(True, tmp_path_factory.mktemp("peers"))


def measured(task, inputs, library):
    inputs.rng = np.random.default_rng(1)
    taken, wrong, judged = getattr(Tasks(inputs, library, 1), task)()
    assert taken.wall > 0 and taken.cpu >= 0
    return wrong, judged


@pytest.mark.parametrize("task", TASKS)
def test_answers_are_judged(task, inputs):
    wrong, judged = measured(task, inputs, Heapwood)
    assert wrong == 0 and judged >= (1 if task == "one_ray" else 80)
    assert measured(task, inputs, Wrong) == (judged, judged)


@pytest.mark.parametrize("task", ["closest_hit", "count_hits", "all_hits", "points_and_normals", "interpolation",
                                  "several_meshes", "load_a_mesh"])
def test_trimesh(task, inputs):
    pytest.importorskip("trimesh")
    pytest.importorskip("rtree")
    wrong, judged = measured(task, inputs, Trimesh)
    assert wrong == 0 and judged > 5


def test_the_program(tmp_path):
    def call(*arguments):
        return subprocess.run([sys.executable, FOLDER / "compare_peers.py", *arguments], capture_output=True,
                              check=False, encoding="utf-8")

    out = tmp_path / "table.md"
    result = call("--quick", "--repeat", "1", "--library", "heapwood", "--task", "one_ray", "--out", out)
    assert result.returncode == 0, result.stderr
    lines = out.read_text().splitlines()
    assert lines[0].startswith("| task") and lines[0].endswith("| heapwood |") and ") ms, 0/1, " in lines[2] and "load" in lines[-1]
    result = call("--quick", "--repeat", "1", "--library", "heapwood", "--task", "animation")
    assert result.returncode == 0, result.stderr
    assert re.search(r"\| [\d,.]+ frames/s, [\d,.]+ \([\d,.]+\) ms, 0/\d+, \d+ MiB \|", result.stdout)
    for arguments in (["--library", "nothing"], ["--task", "nothing"], ["--repeat", "0"], ["--repeat", "x"],
                      ["--folder", "missing"], ["--device", "cuda", "--task", "one_ray"]):
        result = call(*arguments)
        assert result.returncode == 2 and "Traceback" not in result.stderr, result.stderr
