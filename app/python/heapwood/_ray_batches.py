"""Rays of a long call, a batch after another, so that it shows how far it is."""

from heapwood import _arrays
from heapwood._progress import shown

BATCH = 1 << 20  # rays; the compiled module takes 256 at a time, and so the same ones


def trace(call, rays, count, out, progress, origins, what):
    """The results of ``call(rays, out)``, which is called for all rays, or for those of each batch.

    Args:
        rays: origins, directions and ends as of ``_arrays.rays``; ``count`` is their number.
        out: rows that results go to; none: new ones are the results, one array or a tuple of these.
        progress: as of ``heapwood.compare``.
        origins: of whose library the results are.
        what: the name of the call. Those of ``all_hits`` begin with the offsets.
    """
    with shown(progress, "rays") as show:
        if show is None:
            return call(rays, out)
        show(0, max(count, 1), what)
        batches = []
        for first in range(0, max(count, 1), BATCH):
            last = min(first + BATCH, count)
            some = [value if isinstance(value, float) or len(value) == 1 else value[first:last]
                    for value in rays]
            rows = [row[len(row) // count * first:len(row) // count * last] if count else row for row in out]
            batches.append(call(some, rows))
            show(last, max(count, 1), what)
    if out:
        return None
    if not isinstance(batches[0], tuple):
        return _joined(batches, origins)
    columns = [list(column) for column in zip(*batches)]
    if what == "all_hits":
        return _offsets(columns[0], origins), *(_joined(column, origins) for column in columns[1:])
    return tuple(_joined(column, origins) for column in columns)


def _joined(pieces, origins):
    pieces = [_arrays.like(origins, piece) for piece in pieces]
    return pieces[0] if len(pieces) == 1 else _arrays.module(pieces[0]).concatenate(pieces)


def _offsets(pieces, origins):
    """Offsets of all hits, of those that each batch counts from 0."""
    pieces = [_arrays.like(origins, piece) for piece in pieces]
    ends, end = [pieces[0]], pieces[0][-1]
    for piece in pieces[1:]:
        ends.append(piece[1:] + end)
        end = ends[-1][-1]
    return _joined(ends, origins)
