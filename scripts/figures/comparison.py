"""Two results, cell by cell: faster, slower or undecided."""

from dataclasses import dataclass
from typing import Optional

import numpy as np

from figures.mann_whitney import p_value, smallest_p_value
from figures.results import outcome_text

_KEYS = {
    "compare": ["scene", "pool", "allocator"],
    "bench": ["series", "metric", "phase", "x", "allocator"],
    "replay": ["series", "metric", "phase", "x", "allocator"],
}


_TIMES = ("ms", "ns", "cycles")


class MismatchError(Exception):
    """Two results that have nothing to compare; the text says why."""


@dataclass
class Cell:
    """A cell of both results. Times are medians in `unit`; None where there is none."""

    key: tuple
    verdict: str  # faster, slower, undecided; failed, mended if only one of them is done
    first: Optional[float] = None
    second: Optional[float] = None
    p: Optional[float] = None
    remark: str = ""
    unit: str = "ms"

    @property
    def ratio(self):
        """The second over the first."""
        if self.first is None or self.second is None or self.first == 0:
            return None
        return self.second / self.first


class Comparison:
    """All cells that two results of one kind share, in the order of the first."""

    def __init__(self, first, second, alpha):
        if first.kind != second.kind:
            raise MismatchError(
                f"{first.path} is of {first.kind}, {second.path} of {second.kind}"
            )
        if first.kind == "replay" and _trace(first) != _trace(second):
            raise MismatchError(f"{first.path} and {second.path} are replays of different traces")
        self.keys = _KEYS[first.kind]
        self._alpha = alpha
        old, new = _timed(first, self.keys), _timed(second, self.keys)
        shared = [key for key in old if key in new]
        if not shared:
            raise MismatchError(f"{first.path} and {second.path} have no cell in common")
        self.cells = [self._judge(key, old[key], new[key]) for key in shared]
        self._only = len(old) - len(shared), len(new) - len(shared)
        tested = [
            smallest_p_value(len(old[cell.key]["samples"]), len(new[cell.key]["samples"]))
            for cell in self.cells
            if cell.p is not None
        ]
        self._blind = sum(smallest > alpha for smallest in tested)
        self._by_chance = (len(tested) - self._blind) * alpha

    @property
    def worse(self):
        """Whether something is slower, or failed that was done."""
        return any(cell.verdict in ("slower", "failed") for cell in self.cells)

    def summary(self):
        """Sentences: the counts, and how far they can be trusted."""
        verdicts = [cell.verdict for cell in self.cells]
        counts = [f"{verdicts.count(word)} {word}" for word in ("faster", "slower", "undecided")]
        counts += [
            f"{verdicts.count(word)} {word}" for word in ("failed", "mended") if word in verdicts
        ]
        sentences = [f"{len(verdicts)} cells: {', '.join(counts)}."]
        sentences.append(
            f"Were nothing changed, about {self._by_chance:.1f} would be called faster or slower "
            f"by chance (alpha {self._alpha:g})."
        )
        if self._blind:
            sentences.append(
                f"Cells with too few samples to decide anything at that alpha: {self._blind}; "
                "repeat more often."
            )
        for name, number in zip("AB", self._only):
            if number:
                sentences.append(f"Cells in {name} only: {number}.")
        return sentences

    def _judge(self, key, old, new):
        a, b = old["samples"], new["samples"]
        if not a or not b:
            verdict = "failed" if a else "mended" if b else "undecided"
            outcomes = dict.fromkeys(outcome_text(row["outcome"]) for row in (old, new))
            remark = f" ({' -> '.join(outcomes)})"
            return Cell(key, verdict, _median(a), _median(b), None, remark, old["unit"])
        p = p_value(a, b)
        verdict = "undecided"
        if p <= self._alpha:
            verdict = "slower" if _mean_rank_is_higher(b, a) else "faster"
        return Cell(key, verdict, _median(a), _median(b), p, unit=old["unit"])


def _trace(result):
    """What tells the traces of replays apart."""
    trace = result.document["trace"]
    keys = ("callers", "requests", "frees", "bytes", "peak_bytes")
    return {key: trace.get(key) for key in keys}


def _timed(result, keys):
    """Rows by key, with their unit. Of bench only times; not those of a phase that a metric does not have."""
    cells = result.cells
    if result.kind != "compare":
        cells = cells[cells.unit.isin(_TIMES)]
        measured = (cells.outcome != "done") | (cells.samples.map(len) > 0)
        cells = cells[measured]
    else:
        cells = cells.assign(unit="ms")
    return {tuple(_plain(row[key]) for key in keys): row for row in cells.to_dict("records")}


def _plain(value):
    """What a table made a float of as it was: a whole number, or nothing."""
    if not isinstance(value, float):
        return value
    return None if np.isnan(value) else int(value) if value.is_integer() else value


def _median(samples):
    return float(np.median(samples)) if samples else None


def _mean_rank_is_higher(these, those):
    """Whether a sample of these is above one of those more often than below."""
    return float(np.sign(np.subtract.outer(these, those)).sum()) > 0
