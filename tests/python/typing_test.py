"""What a type checker says of the package, and of programs that use it."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import heapwood

PACKAGE = pathlib.Path(heapwood.__file__).parent

RIGHT = """
from typing import Any

import heapwood
import numpy as np

tree = heapwood.build(heapwood.load("a.obj"), leaf_limit=4, clip=False, empty_rule="pays", depth_base=8)
t, primitive, barycentrics = tree.closest_hit(np.zeros((1, 3)), [0, 0, 1], coherent=True)
t.reshape(-1)
distance, triangle, uv, closest = tree.closest_point(np.zeros((1, 3)), 9, threads=1)
tree.distance(np.zeros((1, 3)), out=distance).sum() + tree.within(uv, 9, "any", out=uv).sum()
closest.sum() + tree.signed_distance(np.zeros((1, 3)), sign="crossings").sum()
offsets, within = tree.within(np.zeros((1, 3)), 9)
within.sum() + tree.within([0, 0, 0], 9, "count").sum() + tree.overlaps(np.zeros((2, 3)), "any").sum()
hits = heapwood.build([tree.scene, "b.obj"], transforms=np.zeros((2, 4, 4))).hits([0, 0, 0], [0, 0, 1])
hits.normals.sum() + heapwood.interpolate(hits, tree.vertices).sum()
client: Any = None
heapwood.forest.build("a.obj", client, out="a.kdt", max_nodes=9)
builder = heapwood.Builder([[0, 1, 2]], leaf_limit=4)
builder.rebuild(np.zeros((3, 3)))
builder.tree().digest.upper()
heapwood.compare("a.obj", progress=lambda done, total, what: print(f"{done / total:.0%} {what.upper()}"))
tree.any_hit(np.zeros((1, 3)), [0, 0, 1], progress=True).any()
"""

WRONG = {
    'heapwood.build("a").within([0, 0, 0], 9, "some")': 'No overload variant of "within"',
    'heapwood.build("a", leaf_limit="4")': '"leaf_limit" .*has incompatible type "str"',
    'heapwood.build("a", leaflimit=4)': 'Unexpected keyword argument "leaflimit"',
    'heapwood.build("a", empty_rule="some")': '"empty_rule" .*incompatible type',
    'heapwood.Builder([[0, 1, 2]], leaf_limit="4")': '"leaf_limit" .*has incompatible type "str"',
    'heapwood.compare("a", progress=3)': '"progress" .*incompatible type "int"',
    'heapwood.build("a", clip=None)': '"clip" .*incompatible type "None"',
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def mypy(tmp_path, cache):
    """A function that calls mypy in a folder, and returns its exit code and what it says."""
    pytest.importorskip("mypy")

    def call(*arguments):
        result = subprocess.run(
            [sys.executable, "-m", "mypy", "--disable-error-code", "import-untyped", "--disable-error-code",
             "import-not-found", "--cache-dir", str(cache), *arguments],
            cwd=tmp_path, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)}, stdout=subprocess.PIPE,
            universal_newlines=True, check=False)
        return result.returncode, result.stdout

    return call


def test_the_package_agrees_with_its_types(mypy):
    code, said = mypy("-p", "heapwood")
    assert code == 0, said


def test_programs_that_use_it(mypy, tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    code, said = mypy("right.py")
    assert code == 0, said
    (tmp_path / "wrong.py").write_text("import heapwood\n" + "\n".join(WRONG))
    code, said = mypy("wrong.py")
    lines = [line for line in said.splitlines() if "error:" in line]
    assert code == 1 and len(lines) == len(WRONG), said
    for number, (line, sentence) in enumerate(zip(lines, WRONG.values()), 2):
        assert line.startswith(f"wrong.py:{number}:"), line
        assert re.search(sentence, line), line
