"""The notebooks of app/python/gallery run, and their pages show what they say."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

import heapwood

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "app/python/gallery"
NEEDS = {"which_allocator": "pandas", "sweep_on_dask": "distributed"}
DRAWS = importlib.util.find_spec("matplotlib") is not None

spec = importlib.util.spec_from_file_location("gallery", FOLDER / "make.py")
gallery = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gallery)


def words(text):
    """A text without numbers, and without what lies between words."""
    return re.findall(r"[a-zA-Z_:%]+", re.sub(r"[0-9a-f]{16}|[0-9][0-9.,]*|\b(nan|inf|e)\b", " ", text))


@pytest.mark.parametrize("name", gallery.NOTEBOOKS)
def test_a_notebook_is_its_page(name, monkeypatch, capsys):
    for package in ("pandas", NEEDS.get(name, "numpy")):
        pytest.importorskip(package)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(heapwood, "cuda_available", lambda: False)  # pages are of a CPU
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    blocks = iter(re.findall(r"^```(python|text)\n(.*?)\n```$", page, flags=re.M | re.S))
    for kind, text, said, _ in gallery.run(name, DRAWS):
        if kind == "[markdown]":
            assert re.sub(r"^# ?", "", text, flags=re.M) in page, "make the page again: gallery/make.py"
            continue
        assert next(blocks) == ("python", text), "make the page again: gallery/make.py"
        if said and name != "which_allocator":
            form, shown = next(blocks)
            assert form == "text" and words(shown) == words(said)
        elif said:  # whose choice differs from machine to machine
            form, shown = next(blocks)
            assert form == "text" and set(words(shown)) & set(words(said))
    assert next(blocks, None) is None
    assert f"({name}.png)" in page
    if not DRAWS:
        print("without matplotlib: the cells that draw did not run")


def test_notebooks_and_pictures_are_small():
    assert {path.stem for path in FOLDER.glob("*.py")} == {"make", *gallery.NOTEBOOKS}
    for name in gallery.NOTEBOOKS:
        assert len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 60, name
    assert sum(path.stat().st_size for path in FOLDER.glob("*.png")) <= 150_000
    assert [path.stem for path in sorted(FOLDER.glob("*.png"))] == sorted(gallery.NOTEBOOKS)


def test_an_unknown_notebook_is_a_sentence():
    result = subprocess.run([sys.executable, FOLDER / "make.py", "frist_rays"], capture_output=True, check=False,
                            encoding="utf-8")
    assert result.returncode == 1 and "no notebook frist_rays; there are first_rays" in result.stderr
    assert "Traceback" not in result.stderr
