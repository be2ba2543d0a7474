"""What an import of the package brings, and what it leaves until it is asked for."""

import subprocess
import sys

import pytest

import heapwood


def python(program):
    result = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE,
                            universal_newlines=True)
    return result.stdout.split()


def test_trees_and_rays_need_little():
    before = set(python("import sys, numpy, typing; print(*sys.modules)"))
    brought = set(python("import sys, heapwood; print(*sys.modules)")) - before
    heavy = {"asyncio", "concurrent", "subprocess", "tempfile", "logging", "pandas", "distributed", "trimesh",
             "rich", "ssl", "heapwood._program", "heapwood._sweep", "heapwood.forest"}
    assert not brought & heavy


@pytest.mark.parametrize("name", heapwood._LATER)
def test_what_comes_later_is_there_at_first_asking(name):
    for program in (f"import heapwood; heapwood.{name}", f"from heapwood import {name}"):
        assert python(f"{program}; print('done')") == ["done"]


def test_names():
    assert set(heapwood.__all__) <= set(dir(heapwood))
    program = "import heapwood; heapwood.forest.build; from heapwood import *; bench; print('ok')"
    assert python(program) == ["ok"]
    with pytest.raises(AttributeError, match="module 'heapwood' has no attribute 'tree'"):
        heapwood.tree
