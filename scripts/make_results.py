#!/usr/bin/env python3
"""Writes the tables and figures of the documents from the raw samples in scripts/results.

    scripts/make_results.py            # tables and figures
    scripts/make_results.py --check    # only says which tables are stale

A document asks for a table by a pair of comments, and what stands between them is replaced:

    <!-- table: slowdown h100-compare 200x -->
    <!-- end -->

The words are the table's name (figures/tables.py), a result in scripts/results without its
ending, and the table's own arguments. Figures go to scripts/results/figures: those that a document
shows or links to. scripts/plot.py draws the others.

Needs Python 3.8 and nothing else; the figures need what scripts/plot.py needs.

Exit codes: 0 done, 1 --check found a stale table, 2 a document or result that cannot be used.
"""

import pathlib
import re
import sys

from figures import frontier, program, tables
from figures.files import ResultError, read_document, stem_of
from figures.published_builds import published

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "allocators/README.md", "kdtree/README.md", "scripts/results/README.md",
             "scripts/results/frontier.md")
BLOCK = re.compile(r"<!-- table: (?P<words>[^\n]*?) -->\n(?P<text>.*?)<!-- end -->\n", re.DOTALL)
FIGURE = re.compile(r"\((?:[\w./-]*/)?figures/(?P<name>[\w-]+\.svg)\)")
TABLES = {
    **tables.TABLES,
    **{table.__name__: table
       for table in (published, frontier.frontier, frontier.frontier_summary, frontier.distance)},
}


class DocumentError(Exception):
    """A document that asks for what there is not; the text says where."""


class Results:
    """The results of a folder, each read once."""

    def __init__(self, folder):
        self._paths = {stem_of(path): path for path in sorted(folder.glob("*.json*"))}
        self._documents = {}

    @property
    def paths(self):
        """The files, in the order of their names."""
        return list(self._paths.values())

    def document(self, stem):
        """The JSON of a result. @raise DocumentError, ResultError."""
        if stem not in self._paths:
            raise DocumentError(f"there is no result {stem!r}; there are {', '.join(self._paths)}")
        if stem not in self._documents:
            self._documents[stem] = read_document(self._paths[stem])
        return self._documents[stem]


def made(words, results):
    """The text between a pair of comments."""
    name, *rest = words.split()
    if name not in TABLES or not rest:
        raise DocumentError(f"there is no table {words!r}; there are {', '.join(TABLES)}")
    document = results.document(rest[0])
    try:
        lines = TABLES[name](document, *rest[1:])
    except tables.TableError as error:
        raise DocumentError(f"{rest[0]}: {error}") from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise DocumentError(f"{words!r} cannot be made: {problem}") from error
    return "\n".join(["", *lines, "", ""])


def updated(path, results):
    """(text, new text, words of stale blocks) of a document. @raise DocumentError."""
    text = path.read_text(encoding="utf-8")
    stale = []

    def replace(match):
        words = match["words"]
        try:
            new = made(words, results)
        except DocumentError as error:
            line = text.count("\n", 0, match.start()) + 1
            raise DocumentError(f"{path}:{line}: {error}") from error
        if new != match["text"]:
            stale.append(words)
        return f"<!-- table: {words} -->\n{new}<!-- end -->\n"

    new = BLOCK.sub(replace, text)
    if text.count("<!-- table:") != len(BLOCK.findall(text)):
        raise DocumentError(f"{path}: a table's comment has no <!-- end -->")
    return text, new, stale


def draw(results, folder, shown):
    """The figures of the results that documents show, as SVG.

    `shown`: {name of a figure: the document that shows it}. @raise DocumentError.
    """
    from figures import bench_figures, compare_figures, summary_figure
    from figures.results import Result

    folder.mkdir(parents=True, exist_ok=True)
    drawn = set()
    for path in results.paths:
        result = Result(path)
        module = compare_figures if result.kind == "compare" else bench_figures
        figures_of = list(module.figures(result))
        if result.kind == "compare":
            figures_of += summary_figure.figures(result)
        for name, figure in figures_of:
            target = folder / f"{result.stem}-{name}.svg"
            if target.name in shown:
                figure.savefig(target, metadata={"Date": None})
                drawn.add(target.name)
    for name, document in shown.items():
        if name not in drawn:
            raise DocumentError(f"{document}: shows the figure {name}, which no result has")
    for old in folder.glob("*.svg"):
        if old.name not in drawn:
            old.unlink()
    print(f"{program.printable(folder)}: {len(drawn)} figures")


def main():
    """The command line; returns the exit code."""
    parser = program.Parser(description="Write tables and figures from raw samples.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if stale")
    parser.add_argument("--no-figures", action="store_true", help="only the tables")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="repository to work on")
    options = parser.parse_args()
    results = Results(options.root / "scripts/results")
    stale, shown = [], {}
    try:
        for name in DOCUMENTS:
            path = options.root / name
            if not path.exists():
                continue
            text, new, words = updated(path, results)
            shown.update((match["name"], path) for match in FIGURE.finditer(text))
            stale += [f"{name}: {entry}" for entry in words]
            if not options.check and new != text:
                path.write_text(new, encoding="utf-8")
        if not options.check and not options.no_figures:
            draw(results, options.root / "scripts/results/figures", shown)
    except (DocumentError, ResultError, UnicodeDecodeError) as error:
        print(f"make_results: error: {program.printable(error)}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.filename is None:
            raise  # standard output
        problem = program.printable(f"{error.filename}: {error.strerror}")
        print(f"make_results: error: {problem}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"make_results: the tables are written; the figures need the Python package "
              f"{error.name}: pip install numpy pandas matplotlib", file=sys.stderr)
        return 2
    for entry in stale:
        print(f"{'stale' if options.check else 'written'}: {program.printable(entry)}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    program.run("make_results", main)
