#!/usr/bin/env python3
"""Compares two results of `heapwood compare`, `heapwood bench` or `heapwood replay`, cell by cell.

    scripts/compare.py before.json after.json

Of every cell that both have (scene, pool, allocator; or series, metric, x, allocator) it says
from the raw samples whether the second is faster, slower, or that the samples do not decide
(Mann-Whitney, two-sided, exact).

Exit codes: 0 nothing is slower, 1 something is slower or is no longer done, 2 wrong usage, files
that cannot be compared, or output that cannot be written.
"""

import pathlib
import sys

try:
    import rich.console
    import rich.table
    import rich.text
    import typer

    from figures import program
    from figures.comparison import Comparison, MismatchError
    from figures.files import ResultError
    from figures.results import Result
except ImportError as error:
    from figures import say_missing

    say_missing("compare", error)

# Into a file or a pipe goes all of a table, however wide.
WIDTH = None if sys.stdout.isatty() else 400
OUT = rich.console.Console(soft_wrap=True, highlight=False, width=WIDTH)
ERRORS = rich.console.Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
STYLES = {"faster": "green", "slower": "bold red", "failed": "bold red", "mended": "green"}
APP = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def shown(text, style=""):
    """The text, which may have words of results or names of files, as a terminal may show it."""
    return rich.text.Text(program.printable(text), style)


def say(sentence, style):
    """Prints to standard error."""
    ERRORS.print(shown(f"compare: {sentence}", style))


def warn(result, other):
    """Says what else differs than the program and the day."""
    one, two = result.provenance, other.provenance
    for key in dict.fromkeys([*one, *two]):
        if key in ("arguments", "date", "git", "version") or one.get(key) == two.get(key):
            continue
        what = "" if key == "configuration" else f": {one.get(key)} and {two.get(key)}"
        say(f"warning: different {key}{what}", "yellow")


def table(cells, keys):
    """A row for each cell."""
    rows = rich.table.Table(box=None, pad_edge=False, header_style="bold")
    for key in keys:
        rows.add_column(key, no_wrap=True)
    for title in ("A", "B", "unit", "B / A", "p"):
        rows.add_column(title, justify="right", no_wrap=True)
    rows.add_column("verdict", no_wrap=True)
    for cell in cells:
        figures = [
            shown("–" if value is None else form.format(value))
            for value, form in (
                (cell.first, "{:.4g}"), (cell.second, "{:.4g}"), (cell.unit, "{}"),
                (cell.ratio, "{:.3f}"), (cell.p, "{:.2g}"),
            )
        ]
        words = [shown("–" if word is None else word) for word in cell.key]
        verdict = shown(cell.verdict + cell.remark, STYLES.get(cell.verdict, ""))
        rows.add_row(*words, *figures, verdict)
    return rows


@APP.command()
def main(
    first: pathlib.Path = typer.Argument(..., metavar="A.json", help="Result to compare with."),
    second: pathlib.Path = typer.Argument(..., metavar="B.json", help="Result that is judged."),
    alpha: float = typer.Option(
        0.01, min=0, max=0.5, help="How often equal cells may be called different by chance."
    ),
    everything: bool = typer.Option(False, "--all", help="Show the undecided cells too."),
):
    """Says of every cell of B whether it is faster or slower than in A, or undecided."""
    try:
        results = Result(first), Result(second)
        comparison = Comparison(*results, alpha)
    except (ResultError, MismatchError) as error:
        say(f"error: {error}", "red")
        raise typer.Exit(2)
    except (LookupError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
        say(f"error: a result is damaged: {problem}", "red")
        raise typer.Exit(2)
    for name, result in zip("AB", results):
        OUT.print(shown(f"{name}  {result.path}: {result.where()}"))
    warn(*results)
    cells = [cell for cell in comparison.cells if everything or cell.verdict != "undecided"]
    if cells:
        OUT.print(table(cells, comparison.keys))
    for sentence in comparison.summary():
        OUT.print(shown(sentence))
    raise typer.Exit(1 if comparison.worse else 0)


if __name__ == "__main__":
    program.run_app("compare", APP)
