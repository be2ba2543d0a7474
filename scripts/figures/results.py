"""The JSON of `heapwood compare`, `bench` and `replay` as tables, one row a cell."""

import math
import pathlib

import pandas as pd

from figures.files import ResultError, read_document, stem_of

# As people say it.
OUTCOMES = {
    "pool_exhausted": "out of pool",
    "out_of_pool": "out of pool",
    "nodes_exhausted": "out of nodes",
    "references_exhausted": "out of references",
    "out_of_memory": "out of memory",
}


class Result:
    """A result file: `kind` is "compare", "bench" or "replay", `stem` the file's name without
    endings, `document` the JSON, `cells` a table. A replay has the shape of a bench with one series.

    Columns of `cells` for compare: scene, pool, allocator, multiple (NaN: needs no pool), outcome,
    slowdown, baseline (the pool of its reference), fastest;
    for bench and replay: series, metric, unit, phase ("cold", "warm" or "value"), allocator, x, outcome;
    for all: median, min, max, and samples as a list. Cells without figures have none of these.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.stem = stem_of(path)
        self.document = read_document(self.path)
        self.kind = self.document["kind"]
        try:
            if self.kind == "replay":
                self.document = _replay_as_bench(self.document)
            rows = (_compare_rows if self.kind == "compare" else _bench_rows)(self.document)
            self.cells = pd.DataFrame(rows)
            # A baseline of bench is no allocator at all, and so has no such property.
            self.full = {
                _text(entry["name"]): None if entry.get("baseline") else entry["full"]
                for entry in self.document["allocators"]
            }
            self.provenance = dict(self.document["provenance"])
            self.where()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ResultError(
                f"{path}: is damaged: {type(error).__name__}: {error}; measure again"
            ) from error
        if self.cells.empty:
            raise ResultError(f"{path}: has no cells: nothing was measured")
        unknown = sorted(set(self.cells.allocator) - set(self.full))
        if unknown:
            raise ResultError(f"{path}: is damaged: it does not list {unknown[0]}; measure again")

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


def _text(value):
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _number(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError(f"{value!r:.40} is no number")
    return float(value)


def _number_or_none(value):
    return None if value is None else _number(value)


def _figures(spread):
    if spread is None:
        return {"median": None, "min": None, "max": None, "samples": []}
    figures = {key: _number(spread[key]) for key in ("median", "min", "max")}
    return {**figures, "samples": [_number(sample) for sample in spread["samples"]]}


def _compare_rows(document):
    return [
        {
            "scene": _text(cell["scene"]),
            "pool": _text(cell["pool"]),
            "allocator": _text(cell["build"]["allocator"]),
            "multiple": _number_or_none(cell["build"]["pool_multiple"]) or None,
            "outcome": _text(cell["outcome"]),
            "slowdown": _number_or_none(
                cell["build"]["slowdown"] if cell["outcome"] == "done" else None
            ),
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
                        "series": _text(cell["series"]),
                        "metric": _text(metric["name"]),
                        "unit": _text(metric["unit"]),
                        "phase": phase,
                        "allocator": _text(cell["allocator"]),
                        "x": _number_or_none(cell["x"]),
                        "outcome": _text(cell["outcome"]),
                        **_figures(phases.get(phase)),
                    }
                )
    return rows


def _replay_as_bench(document):
    """A replay as the bench of one series without an axis."""
    trace = document["trace"]
    name = pathlib.PurePath(trace["path"]).name
    metrics = [
        {"name": "ms", "title": "replay", "unit": "ms", "timed": True},
        {"name": "peak_external", "title": "external fragmentation at the peak", "unit": "1",
         "timed": False},
    ]
    series = {
        "id": "replay",
        "title": f"Replay of {name}",
        "source": f"{trace['requests']} requests of {trace['callers']} callers, "
        f"pool {document['provenance']['pool_bytes'] / 2**20:.4g} MiB",
        "x": None,
        "metrics": metrics,
    }
    return {
        **document,
        "allocators": [
            {"name": entry["allocator"], "full": entry["full"]} for entry in document["results"]
        ],
        "series": [series],
        "cells": [
            {
                "series": "replay",
                "allocator": entry["allocator"],
                "x": None,
                "outcome": entry["outcome"],
                "metrics": {
                    "ms": {"warm": entry["ms"], "cold": entry["cold_ms"]},
                    "peak_external": {"value": _single(entry["peak_external"])},
                },
            }
            for entry in document["results"]
        ],
    }


def _single(value):
    """A spread of one sample, or of none."""
    if value is None:
        return None
    return {"median": value, "min": value, "max": value, "samples": [value]}
