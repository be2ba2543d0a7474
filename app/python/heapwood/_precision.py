"""Meshes in single precision: what is lost far from the origin, and how a shift keeps it."""

import numpy as np

from heapwood import _arrays
from heapwood.errors import PrecisionWarning, warn

_FAR = 8  # times the rounding error that a mesh around the origin has
_VISIBLE = 1e-3  # of the triangles' length


def single(vertices, triangles, center):
    """Positions in single precision, and the origin that they count from.

    Args:
        vertices: (V, 3) real numbers.
        triangles: (T, 3) int64, of which any may be wrong.
        center: whether the origin is the middle of the vertices; otherwise it is zero, and a loss brings a
            ``PrecisionWarning``.

    Returns:
        (V, 3) float32, contiguous, and (3,) float64.
    """
    origin = np.zeros(3)
    rounded = np.ascontiguousarray(vertices, np.float32)
    # What is wrong with triangles or vertices is the scene's to refuse.
    if not len(triangles) or triangles.min() < 0 or triangles.max() >= len(vertices):
        return rounded, origin
    used = np.bincount(triangles.ravel(), minlength=len(vertices)) > 0
    if not np.isfinite(rounded[used]).all():
        return rounded, origin
    if center:
        origin += vertices[used].min(axis=0) / 2 + vertices[used].max(axis=0) / 2
        return np.ascontiguousarray(vertices - origin, np.float32), origin
    if not np.can_cast(vertices.dtype, np.float32):
        exact = vertices[used].astype(np.float64)
        moved = np.abs(exact - rounded[used]).max()
        if moved > _FAR * np.ptp(exact, axis=0).max() * 2.0**-25:
            _warn_of_loss(vertices[triangles].astype(np.float64), np.float64(rounded[triangles]), moved)
    return rounded, origin


def loses(vertices, triangles):
    """Whether ``single`` may warn of a mesh: as it decides it, but where the arrays lie.

    Args:
        vertices: (V, 3) of double precision, of any library.
        triangles: (T, 3) whole numbers below V, of the same.
    """
    library = _arrays.module(vertices)
    rows = _arrays.detached(triangles).reshape(-1)
    exact = _arrays.detached(vertices)[rows.long() if hasattr(rows, "long") else rows]
    moved = abs(exact - _arrays.double(_arrays.single(exact))).max()
    extent = (library.amax(exact, 0) - library.amin(exact, 0)).max()
    return bool(moved > _FAR * extent * 2.0**-25)


def _warn_of_loss(exact, rounded, moved):
    """Warns if rounding distorts triangles, whose corners it has moved so far at most."""
    lengths, areas = _measures(exact)
    collapsed = np.count_nonzero((areas > 0) & (_measures(rounded)[1] == 0))
    if collapsed or moved > _VISIBLE * np.median(lengths):
        warn(f"vertices up to {np.abs(exact).max():,.6g} from the origin move by up to {moved:.2g} in single "
             f"precision, where triangles are {np.median(lengths):.2g} long: {collapsed:,} of {len(exact):,} "
             "lose their area; pass center=True", PrecisionWarning)


def _measures(corners):
    """The longest edge, and twice the area, of each triangle."""
    edges = corners - np.roll(corners, 1, axis=1)
    return (np.linalg.norm(edges, axis=2).max(axis=1),
            np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1))
