"""The JSON of `heapwood compare` and `heapwood bench` as tables, one row a cell."""

import json
import lzma
import pathlib
import re

import pandas as pd

SCHEMA = 1

# As people say it.
OUTCOMES = {
    "pool_exhausted": "out of pool",
    "out_of_pool": "out of pool",
    "nodes_exhausted": "out of nodes",
    "references_exhausted": "out of references",
    "out_of_memory": "out of memory",
}


class ResultError(Exception):
    """A file that cannot be used; the text says which, why, and what to do."""


class Result:
    """A result file: `kind` is "compare" or "bench", `stem` the file's name without endings,
    `document` the JSON, `cells` a table.

    Columns of `cells` for compare: scene, pool, allocator, multiple (NaN: needs no pool), outcome,
    slowdown, baseline (the pool of its reference), fastest;
    for bench: series, metric, unit, phase ("cold", "warm" or "value"), allocator, x, outcome;
    for both: median, min, max, and samples as a list. Cells without figures have none of these.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.stem = re.sub(r"(\.json)?(\.xz)?$", "", self.path.name)
        self.document = _read(self.path)
        self.kind = _kind(self.path, self.document)
        try:
            rows = (_compare_rows if self.kind == "compare" else _bench_rows)(self.document)
            self.cells = pd.DataFrame(rows)
            # A baseline of bench is no allocator at all, and so has no such property.
            self.full = {
                entry["name"]: None if entry.get("baseline") else entry["full"]
                for entry in self.document["allocators"]
            }
            self.provenance = dict(self.document["provenance"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ResultError(
                f"{path}: is damaged: {type(error).__name__}: {error}; measure again"
            ) from error
        if self.cells.empty:
            raise ResultError(f"{path}: has no cells: nothing was measured")

    def name(self, allocator):
        """With the asterisk of those that are no full allocators."""
        return allocator + ("*" if self.full.get(allocator) is False else "")

    def where(self):
        """In one line, what was measured with what, and when."""
        p = self.provenance
        version = f"heapwood {p['version']} ({p['git']}), {p['build_type']}"
        cuda = f"CUDA {p['cuda']}" if p.get("cuda") else None
        return " · ".join(filter(None, [p["device"], version, cuda, p["date"][:10]]))


def outcome_text(outcome):
    """As people say it: "pool_exhausted" is out of pool."""
    return OUTCOMES.get(outcome, outcome.replace("_", " "))


def _read(path):
    try:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
            return json.load(file)
    except (lzma.LZMAError, EOFError) as error:
        raise ResultError(f"{path}: is no whole .xz file: {error}") from error
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise ResultError(f"{path}:{error.lineno}: is not JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: is not text") from error


def _kind(path, document):
    wanted = "give a file written by 'heapwood compare --json' or 'heapwood bench --json'"
    if not isinstance(document, dict) or "schema" not in document:
        raise ResultError(f"{path}: is no result of heapwood; {wanted}")
    kind = document.get("kind")
    if kind not in ("compare", "bench"):
        what = "a report of 'heapwood build'" if "results" in document else "of an unknown kind"
        raise ResultError(f"{path}: is {what}; {wanted}")
    if document["schema"] != SCHEMA:
        raise ResultError(
            f"{path}: has schema {document['schema']}, and this script reads {SCHEMA}: measure "
            "again, or use the script of the version that wrote it"
        )
    return kind


def _figures(spread):
    if spread is None:
        return {"median": None, "min": None, "max": None, "samples": []}
    return {key: spread[key] for key in ("median", "min", "max", "samples")}


def _compare_rows(document):
    return [
        {
            "scene": cell["scene"],
            "pool": cell["pool"],
            "allocator": cell["build"]["allocator"],
            "multiple": cell["build"]["pool_multiple"] or None,
            "outcome": cell["outcome"],
            "slowdown": cell["build"]["slowdown"] if cell["outcome"] == "done" else None,
            "baseline": cell["baseline_pool"],
            "fastest": cell["fastest_full"],
            **_figures(cell["build"]["ms"] if cell["outcome"] == "done" else None),
        }
        for cell in document["cells"]
    ]


def _bench_rows(document):
    metrics = {series["id"]: series["metrics"] for series in document["series"]}
    rows = []
    for cell in document["cells"]:
        for metric in metrics[cell["series"]]:
            phases = cell["metrics"].get(metric["name"], {})
            for phase in ("cold", "warm") if metric["timed"] else ("value",):
                rows.append(
                    {
                        "series": cell["series"],
                        "metric": metric["name"],
                        "unit": metric["unit"],
                        "phase": phase,
                        "allocator": cell["allocator"],
                        "x": cell["x"],
                        "outcome": cell["outcome"],
                        **_figures(phases.get(phase)),
                    }
                )
    return rows
