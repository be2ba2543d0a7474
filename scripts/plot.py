#!/usr/bin/env python3
"""Draws the figures of results of `heapwood compare`, `heapwood bench` and `heapwood replay`.

    scripts/plot.py compare.json bench.json --out figures

For each scene of compare the slowdowns, and time against pool size; for each series of bench
(the papers' Figures 3 to 5, the survey's tests) a figure; for a replay one. Each as PNG and SVG, named after the
result and the series.

Exit codes: 0 done, 2 wrong usage, a file that is no result, or one that cannot be written.
"""

import contextlib
import pathlib
import sys
from typing import List

try:
    import matplotlib.text
    import rich.console
    import rich.markup
    import rich.progress
    import typer

    from figures import bench_figures, compare_figures, program
    from figures.files import ResultError
    from figures.results import Result
except ImportError as error:
    from figures import say_missing

    say_missing("plot", error)

ERRORS = rich.console.Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


def fail(message):
    """Ends the program with a sentence."""
    ERRORS.print(f"plot: error: {program.printable(message)}", style="red")
    raise typer.Exit(2)


def read(paths):
    """All results, before any is drawn."""
    try:
        results = [Result(path) for path in paths]
    except ResultError as error:
        fail(error)
    stems = [result.stem for result in results]
    for stem in stems:
        if stems.count(stem) > 1:
            fail(f"two results are called {stem}, and so would be their figures: rename one")
    return results


def draw(results):
    """Yields (name, figure)."""
    for result in results:
        module = compare_figures if result.kind == "compare" else bench_figures
        try:
            for name, figure in module.figures(result):
                yield f"{result.stem}-{name}", figure
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            fail(f"{result.path}: is damaged: {type(error).__name__}: {error}; measure again")
        except MemoryError:
            fail(f"{result.path}: its figures do not fit into memory")


def save(figure, path):
    """Writes a figure, whose names are no formulas, and have no characters that cannot be drawn.

    The same figure gives the same bytes: no date.
    """
    for text in figure.findobj(matplotlib.text.Text):
        text.set_parse_math(False)
        text.set_text("\n".join(map(program.printable, text.get_text().split("\n"))))
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    figure.savefig(path, dpi=200, metadata=undated.get(path.suffix))


APP = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@APP.command()
def main(
    results: List[pathlib.Path] = typer.Argument(
        ..., metavar="RESULT.json...", help="Written by compare, bench or replay with --json."
    ),
    out: pathlib.Path = typer.Option(pathlib.Path("figures"), help="Folder to write to."),
    formats: str = typer.Option("png,svg", "--format", help="Of png, svg, pdf; with commas."),
):
    """Draws the figures of results of heapwood compare, bench and replay."""
    endings = formats.split(",")
    for ending in endings:
        if ending not in ("png", "svg", "pdf"):
            fail(f"no format {ending!r}; there are png, svg, pdf")
    loaded = read(results)
    progress = rich.progress.Progress(
        console=ERRORS, transient=True, disable=not ERRORS.is_terminal
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"{out}: cannot be written: {error.strerror or error}")
    # Some versions of rich end even a disabled display with an empty line.
    with progress if ERRORS.is_terminal else contextlib.nullcontext():
        task = progress.add_task("drawing", total=None)
        for name, figure in draw(loaded):
            progress.update(task, description=rich.markup.escape(program.printable(name)))
            for ending in endings:
                path = out / f"{name}.{ending}"
                try:
                    save(figure, path)
                except OSError as error:
                    fail(f"{path}: cannot be written: {error.strerror or error}")
                print(program.printable(path))


if __name__ == "__main__":
    program.run_app("plot", APP)
