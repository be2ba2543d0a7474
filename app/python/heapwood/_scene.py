"""Scenes: the triangles that trees are built of."""

import os
import warnings
from os import PathLike
from typing import Union

import numpy as np
from numpy.typing import ArrayLike

from heapwood import _arrays, _core


class Scene:
    """Triangles in the host's memory, checked once and built with as often as you like.

    Args:
        vertices: (V, 3) real numbers, finite in single precision, which they are converted to.
        triangles: (T, 3) whole numbers: the vertices of each triangle, counted from 0.

    Arrays may be of any library and on any device; they are copied.

    Raises:
        ValueError: a wrong shape, a coordinate that is not finite, a vertex that does not exist, or no
            triangles.
        TypeError: a wrong kind of number.

    Example:
        >>> scene = heapwood.Scene([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> scene
        Scene('arrays': 1 triangles, 3 vertices)
    """

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike):
        self._scene = _core.Scene.from_arrays(_arrays.vertices(vertices),
                                              _arrays.triangles(triangles))

    @classmethod
    def _of(cls, core):
        scene = cls.__new__(cls)
        scene._scene = core
        return scene

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
        SceneError: a file that cannot be read, with the line, or an unknown generator.
        MemoryError: a scene that the machine's memory has no room for.

    Example:
        >>> heapwood.load("gen:sphere:1000")
        Scene('gen:sphere:1000': 1,000 triangles, 605 vertices)
    """
    scene = _core.Scene.load(os.fsdecode(name))
    for warning in scene.warnings:
        warnings.warn(warning, stacklevel=2)
    return Scene._of(scene)
