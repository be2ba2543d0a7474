"""Meshes of any library as arrays: one or several, where transforms put them."""

import os
from typing import Any, List, NamedTuple, Tuple

import numpy as np

from heapwood import _arrays


class Joined(NamedTuple):
    """Several meshes as one: (V, 3) real numbers, (T, 3) int64, and where those of each mesh begin."""

    vertices: np.ndarray
    triangles: np.ndarray
    first_vertices: np.ndarray
    first_triangles: np.ndarray


def is_mesh(thing: Any) -> bool:
    """Whether it has vertices and triangles by names that are known here, or is a scene of trimesh's."""
    return _is_scene(thing) or _attribute(thing, "vertices", "points") is not None and _faces(thing) is not None


def is_pair(thing: Any) -> bool:
    """Whether it may be vertices and triangles."""
    return isinstance(thing, tuple) and len(thing) == 2 and not any(
        is_mesh(one) or isinstance(one, (str, os.PathLike)) for one in thing)


def parts(thing: Any) -> List[Any]:
    """The meshes of a scene of trimesh's, each where it is placed; of a mesh itself."""
    return list(thing.dump(concatenate=False)) if _is_scene(thing) else [thing]


def arrays(mesh: Any) -> Tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a mesh, or of a pair, on the host.

    Raises:
        ValueError, TypeError: what is wrong with them.
    """
    vertices, triangles = mesh if is_pair(mesh) else (_attribute(mesh, "vertices", "points"), _faces(mesh))
    exact = _arrays.vertices(vertices)
    return exact, _arrays.triangles(_unpacked(triangles), len(exact))


def joined(meshes: List[Any], transforms: Any = None) -> Joined:
    """Meshes, each moved by its transform in double precision, as one.

    Args:
        meshes: as ``arrays`` takes them.
        transforms: as of ``matrices``; None: they stay where they are.
    """
    positions, faces = [], []
    for number, mesh in enumerate(meshes):
        try:
            vertices, triangles = arrays(mesh)
            _require_own(triangles, len(vertices))
        except (TypeError, ValueError) as error:
            raise type(error)(f"mesh {number}: {error}" if len(meshes) > 1 else str(error)) from None
        if transforms is not None:
            vertices = vertices.astype(np.float64) @ transforms[number, :3, :3].T + transforms[number, :3, 3]
        positions.append(vertices)
        faces.append(triangles)
    first_vertices = _starts(positions)
    return Joined(np.concatenate(positions), np.concatenate([a + b for a, b in zip(faces, first_vertices)]),
                  first_vertices, _starts(faces))


def matrices(transforms: Any, count: int) -> np.ndarray:
    """A transform for each mesh, (N, 4, 4) float64, from those of any library, or from (4, 4) for one mesh.

    Raises:
        ValueError: another shape, or a matrix that does more than move points.
    """
    found = _arrays.real_numpy(transforms, "transforms").astype(np.float64)
    if found.shape == (4, 4) and count == 1:
        found = found[None]
    if found.shape != (count, 4, 4):
        raise ValueError(f"transforms must have the shape ({count}, 4, 4), a matrix for each mesh, not "
                         f"{found.shape}")
    for number, matrix in enumerate(found):
        if not np.isfinite(matrix).all() or matrix[3].tolist() != [0, 0, 0, 1]:
            raise ValueError(f"transforms[{number}] must be finite, with the last row 0 0 0 1, not "
                             f"{matrix[3].tolist()}: points are columns that it is multiplied by")
    return found


def _is_scene(thing):
    return hasattr(thing, "dump") and hasattr(thing, "geometry")


def _attribute(thing, *names):
    for name in names:
        found = getattr(thing, name, None)
        if found is not None and not callable(found):
            return found
    return None


def _faces(thing):
    return _attribute(thing, "faces", "triangles")


def _unpacked(faces):
    """Triangles of VTK, whose faces are one row of numbers: how many corners, and these."""
    array = _arrays.to_numpy(faces, "triangles")
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        return array
    if len(array) % 4 or (array[::4] != 3).any():
        raise ValueError("faces are not all triangles: PyVista's mesh.triangulate() cuts them")
    return array.reshape(-1, 4)[:, 1:]


def _require_own(triangles, count):
    """Refuses a vertex that would be another mesh's."""
    wrong = np.argwhere((triangles < 0) | (triangles >= count))
    if len(wrong):
        raise ValueError(f"triangle {wrong[0][0]} refers to vertex {triangles[tuple(wrong[0])]}, but there are "
                         f"{count} vertices, counted from 0")


def _starts(arrays_of_each):
    return np.concatenate(([0], np.cumsum([len(one) for one in arrays_of_each]))).astype(np.int64)
