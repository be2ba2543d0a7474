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
import heapwood
import numpy as np

tree = heapwood.build(heapwood.load("a.obj"), leaf_limit=4, clip=False, empty_rule="pays", depth_base=8)
t, primitive, barycentrics = tree.closest_hit(np.zeros((1, 3)), [0, 0, 1], coherent=True)
t.reshape(-1)
"""

WRONG = {
    'heapwood.build("a", leaf_limit="4")': '"leaf_limit" .*has incompatible type "str"',
    'heapwood.build("a", leaflimit=4)': 'Unexpected keyword argument "leaflimit"',
    'heapwood.build("a", empty_rule="some")': '"empty_rule" .*incompatible type',
    'heapwood.build("a", clip=None)': '"clip" .*incompatible type "None"',
}


def mypy(*arguments, folder):
    pytest.importorskip("mypy")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--disable-error-code", "import-untyped", "--disable-error-code",
         "import-not-found", "--cache-dir", str(folder / "cache"), *arguments],
        cwd=folder, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)}, stdout=subprocess.PIPE,
        universal_newlines=True, check=False)
    return result.returncode, result.stdout


def test_the_package_agrees_with_its_types(tmp_path):
    code, said = mypy("-p", "heapwood", folder=tmp_path)
    assert code == 0, said


def test_programs_that_use_it(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    code, said = mypy("right.py", folder=tmp_path)
    assert code == 0, said
    (tmp_path / "wrong.py").write_text("import heapwood\n" + "\n".join(WRONG))
    code, said = mypy("wrong.py", folder=tmp_path)
    lines = [line for line in said.splitlines() if "error:" in line]
    assert code == 1 and len(lines) == len(WRONG), said
    for number, (line, sentence) in enumerate(zip(lines, WRONG.values()), 2):
        assert line.startswith(f"wrong.py:{number}:"), line
        assert re.search(sentence, line), line
