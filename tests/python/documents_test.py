"""The examples of docstrings and documents run."""

import doctest
import importlib
import pathlib
import re

import numpy as np
import pytest

import heapwood

ROOT = pathlib.Path(__file__).parents[2]
NEEDS = {"heapwood._program": "pandas", "heapwood._sweep": "pandas",
         "heapwood.forest": "distributed", "heapwood._forest_rays": "distributed",
         "heapwood.trimesh": "trimesh"}
# Blocks with these words are for machines that tests do not run on.
ELSEWHERE = ("cupy", "dask_cuda", "dask_jobqueue", "numba")


@pytest.mark.parametrize("name", ["heapwood", "heapwood._build", "heapwood._scene", "heapwood._tree",
                                  "heapwood._heap", "heapwood._rays", "heapwood._distances",
                                  "heapwood._hits",
                                  "heapwood._program", "heapwood._sweep", "heapwood.forest",
                                  "heapwood._forest_rays", "heapwood.trimesh"])
def test_docstrings(name, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"heapwood": heapwood, "folder": tmp_path},
                             optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0 and result.failed == 0


@pytest.mark.parametrize("document", ["README.md", "app/python/README.md", "app/python/CLUSTERS.md"])
def test_documents(document, tmp_path, monkeypatch):
    for package in ("pandas", "trimesh", "distributed"):
        pytest.importorskip(package)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"),
                        flags=re.M | re.S)
    blocks = [block for block in blocks
              if "heapwood" in block and not any(word in block for word in ELSEWHERE)]
    assert blocks
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenes").symlink_to(ROOT / "scenes")
    np.random.seed(1)
    names = {}
    for block in blocks:
        exec(compile(block, document, "exec"), names)


def test_everything_public_says_what_it_does():
    for name in heapwood.__all__:
        assert getattr(heapwood, name).__doc__ or name == "node_dtype", name
    for kind in (heapwood.Tree, heapwood.Scene, heapwood.Hits):
        for name in dir(kind):
            if not name.startswith("_"):
                assert getattr(kind, name).__doc__, name


def test_types_are_there():
    package = pathlib.Path(heapwood.__file__).parent
    assert (package / "py.typed").exists()
    assert "def closest_hit" in (package / "_core.pyi").read_text(encoding="utf-8")
