#!/usr/bin/env python3
"""Runs the notebooks of this folder, and writes a page of Markdown with pictures for each.

    python app/python/gallery/make.py [NAME ...]

A notebook is a Python file whose cells begin with ``# %%``, ``# %% [markdown]`` or ``# %% picture``: VS Code, PyCharm,
Spyder and Jupytext open it as such. It runs in the repository's root; this program needs the package heapwood with its
extra ``gallery``.
"""

import contextlib
import io
import os
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
NOTEBOOKS = ("first_rays", "ambient_occlusion", "thickness", "animation", "which_allocator", "sweep_on_dask")
COLOURS = 48  # of a picture


def cells(name):
    """The cells of a notebook: (kind, text), of which a kind is "", "[markdown]" or "picture"."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    return [(kind.strip(), text.strip()) for kind, text in re.findall(
        r"^# %%(.*)\n((?:(?!# %%).*\n)*)", source, flags=re.M)]


def run(name, pictures=True):
    """Runs a notebook. Yields (kind, text, what it printed, figures of matplotlib).

    Args:
        pictures: whether the cells that draw run, for which matplotlib is needed.
    """
    names = {"__name__": "__main__"}
    for kind, text in cells(name):
        said, figures = io.StringIO(), []
        if kind != "[markdown]" and (pictures or kind != "picture"):
            with contextlib.redirect_stdout(said):
                exec(compile(text, f"{name}.py", "exec"), names)
            if kind == "picture":
                plt = names["plt"]
                figures = [plt.figure(number) for number in plt.get_fignums()]
        yield kind, text, said.getvalue(), figures
        for figure in figures:
            plt.close(figure)


def save(figure, path):
    """Writes a figure as a small PNG, of few colours."""
    from PIL import Image

    memory = io.BytesIO()
    figure.savefig(memory, dpi=72, bbox_inches="tight", pad_inches=0.05)
    Image.open(memory).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def make(name, folder):
    """Writes a notebook's page and pictures."""
    lines = []
    for kind, text, said, figures in run(name):
        if kind == "[markdown]":
            lines += [re.sub(r"^# ?", "", text, flags=re.M), ""]
            continue
        lines += ["```python", text, "```", ""]
        if said:
            lines += ["```text", said.rstrip(), "```", ""]
        for figure in figures:
            save(figure, folder / f"{name}.png")
            lines += [f"![The picture that the cell above shows]({name}.png)", ""]
    (folder / f"{name}.md").write_text("\n".join(lines), encoding="utf-8")


def main():
    names = sys.argv[1:] or NOTEBOOKS
    unknown = sorted(set(names) - set(NOTEBOOKS))
    if unknown:
        sys.exit(f"make.py: error: there is no notebook {', '.join(unknown)}; there are {', '.join(NOTEBOOKS)}")
    try:
        import heapwood  # noqa: F401
        import matplotlib
    except ImportError as error:
        sys.exit(f"make.py: error: {error}: pip install \".[gallery]\"")
    matplotlib.use("agg")
    os.chdir(ROOT)
    for name in names:
        make(name, FOLDER)
        print(f"app/python/gallery/{name}.md")


if __name__ == "__main__":
    main()
