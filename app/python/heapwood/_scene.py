"""Scenes: the triangles that trees are built of."""

import contextlib
import os
import warnings
from os import PathLike
from typing import Union

import numpy as np

from heapwood import _arrays, _core, _files, _precision
from heapwood._types import AnyArray
from heapwood.errors import SceneError


class Scene:
    """Triangles in the host's memory, checked once and built with as often as you like.

    Args:
        vertices: (V, 3) real numbers, which are converted to single precision. Those that triangles use
            must be finite there; another one that is not becomes the origin.
        triangles: (T, 3) whole numbers: the vertices of each triangle, counted from 0.
        center: shift the mesh in its own precision, so that its middle is the origin, before it is rounded
            to single precision. ``origin`` is then that middle, ``vertices`` and ``bounds`` count from
            it, and rays through a tree are shifted likewise: they, and hits, are where they were.

    Arrays may be of any library and on any device; they are copied. Scenes can be pickled and copied.

    Warns:
        PrecisionWarning: vertices of double precision lie so far from the origin that rounding distorts
            the triangles; with the loss.

    Raises:
        ValueError: a wrong shape, a coordinate that is not finite, a vertex that does not exist, or no
            triangles.
        TypeError: a wrong kind of number.

    Example:
        >>> scene = heapwood.Scene([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> scene
        Scene('arrays': 1 triangles, 3 vertices)
    """

    def __init__(self, vertices: AnyArray, triangles: AnyArray, *, center: bool = False):
        exact = _arrays.vertices(vertices)
        faces = _arrays.triangles(triangles, len(exact))
        rounded, self._origin = _precision.single(exact, faces, center)
        self._scene = _core.Scene.from_arrays(rounded, faces, "arrays")

    @classmethod
    def _of(cls, core, origin=(0, 0, 0)):
        scene = cls.__new__(cls)
        scene._scene = core
        scene._origin = np.array(origin, np.float64)
        return scene

    @classmethod
    def _unpickled(cls, vertices, triangles, path, origin):
        return cls._of(_core.Scene.from_arrays(vertices, triangles.astype(np.int64), path), origin)

    def __reduce__(self):
        return Scene._unpickled, (self.vertices, self.triangles, self.path, self._origin)

    def save(self, path: Union[str, PathLike]) -> None:
        """Writes the triangles to an OBJ file, from which ``load`` makes the same scene.

        Args:
            path: ends with ``.obj``, ``.obj.gz`` or ``.obj.xz``. A file that is there is replaced.

        Vertices of a scene with an ``origin`` are written where they are, with the digits of float64;
        ``load`` rounds them to float32.

        Raises:
            ValueError: another suffix, or the scene was read from this file. SceneError: the file cannot be
                written; a former one stays as it was.

        Example:
            >>> scene = heapwood.load("gen:sphere:1000")
            >>> scene.save(folder / "sphere.obj")
            >>> heapwood.load(folder / "sphere.obj").digest == scene.digest
            True
        """
        name = os.fsdecode(path)
        self._scene.check_output(name)
        vertices = self.vertices + self._origin if self._origin.any() else self.vertices
        _files.write_obj(name, vertices, self.triangles)

    @property
    def path(self) -> str:
        """The file, or the generator's ``gen:`` name; ``arrays`` for a scene from arrays."""
        return self._scene.path

    @property
    def vertices(self) -> np.ndarray:
        """(V, 3) float32. A read-only view, which keeps the scene."""
        return self._scene.vertices

    @property
    def triangles(self) -> np.ndarray:
        """(T, 3) uint32: vertices of each triangle. A read-only view, which keeps the scene."""
        return self._scene.triangles

    @property
    def origin(self) -> np.ndarray:
        """(3,) float64: the point that ``vertices`` and ``bounds`` count from; zeros unless the scene was
        made with ``center=True``."""
        return self._origin.copy()

    @property
    def bounds(self) -> np.ndarray:
        """(2, 3) float32: the lowest and the highest corner of the triangles' box."""
        return self._scene.bounds

    @property
    def degenerate(self) -> int:
        """How many triangles have zero area: their corners lie on one line. Trees have them."""
        return self._scene.degenerate

    @property
    def overlapping(self) -> int:
        """How many polygons of the file are concave and cut into triangles that overlap."""
        return self._scene.overlapping

    @property
    def precision_loss(self) -> float:
        """The distance between neighbouring float32 numbers at the largest coordinate, as a part of
        the scene's largest side. Far from the origin it is large: from 1 on the shape is lost."""
        return self._scene.precision_loss

    @property
    def digest(self) -> str:
        """16 hexadecimal digits, which depend on vertices and triangles alone."""
        return self._scene.digest

    def __len__(self):
        return len(self.triangles)

    def __repr__(self):
        return f"Scene({self.path!r}: {len(self):,} triangles, {len(self.vertices):,} vertices)"


def load(name: Union[str, PathLike]) -> Scene:
    """Reads a scene, or makes one.

    Args:
        name: the path of a Wavefront OBJ file (also ``.obj.xz``, ``.obj.gz``), of a ``.list``
            of several that are one scene, or ``gen:NAME:TRIANGLES[:SEED]``; ``heapwood list`` has
            the names of the generators.

    Warns:
        UserWarning: a scene far from the origin for its size, of which no triangle has an area, or
            with concave polygons that are not cut right.

    Raises:
        SceneError: a file that cannot be read, with the line, a tree's file, or an unknown generator.
        MemoryError: a scene that the machine's memory has no room for.

    Example:
        >>> heapwood.load("gen:sphere:1000")
        Scene('gen:sphere:1000': 1,000 triangles, 605 vertices)
    """
    path = os.fsdecode(name)
    try:
        scene = _core.Scene.load(path)
    except SceneError:
        if _is_tree(path):
            raise SceneError(f"{path}: is a tree, not a scene: heapwood.load_tree reads it") from None
        raise
    for warning in scene.warnings:
        warnings.warn(warning, stacklevel=2)
    return Scene._of(scene)


def _is_tree(path):
    if not os.path.isfile(path):  # a named pipe without a writer would be waited for
        return False
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(len(_core.tree_magic)) == _core.tree_magic
    return False
