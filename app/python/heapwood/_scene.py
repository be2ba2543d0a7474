"""Scenes: the triangles that trees are built of."""

import contextlib
import os
from os import PathLike
from typing import Any, Optional, Union

import numpy as np

from heapwood import _arrays, _core, _files, _foreign, _meshes, _precision
from heapwood._types import AnyArray
from heapwood.errors import SceneError, warn


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
        self._starts = None

    @classmethod
    def of(cls, meshes: Any, *, transforms: Optional[AnyArray] = None, center: bool = False) -> "Scene":
        """The scene of a mesh, or of several.

        Args:
            meshes: an object with ``vertices`` and ``faces`` (trimesh), ``vertices`` and ``triangles`` (Open3D,
                ``Scene``) or ``points`` and ``faces`` (PyVista); a scene of trimesh's; the name of a file, as
                ``load`` takes it; or a list of these and of tuples ``(vertices, triangles)``. A scene counts as its
                meshes.
            transforms: (N, 4, 4) real numbers, a matrix for each mesh, or (4, 4) for one: points are columns,
                which it is multiplied by in double precision. The order of a triangle's corners stays, so
                a reflection turns its normal.
            center: as of ``Scene``.

        ``first_triangles`` and ``first_vertices`` tell which are of which mesh.

        Raises:
            ValueError, TypeError: as of ``Scene``, with the number of the mesh; a wrong transform.
            SceneError: a file that cannot be read.

        Example:
            >>> import numpy as np
            >>> plate = [[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]]
            >>> up = np.eye(4)
            >>> up[2, 3] = 7
            >>> scene = heapwood.Scene.of([plate, plate], transforms=[np.eye(4), up])
            >>> scene.bounds.tolist(), scene.first_triangles.tolist()
            ([[0.0, 0.0, 0.0], [4.0, 4.0, 7.0]], [0, 1, 2])
        """
        listed = isinstance(meshes, list) or isinstance(meshes, tuple) and not _is_mesh(meshes)
        each = list(meshes) if listed else [meshes]
        wrong = [number for number, mesh in enumerate(each) if not _is_mesh(mesh)]
        if wrong or not each:
            what = f"meshes[{wrong[0]}] of {type(each[wrong[0]])}" if wrong and listed else f"{type(meshes)}"
            raise TypeError("build() takes a Scene, or vertices and triangles; or a mesh that has both, the name of "
                            f"a file, or a list of these; not {what}")
        scenes = [load(mesh) if isinstance(mesh, (str, PathLike)) else mesh for mesh in each]
        path = scenes[0].path if len(scenes) == 1 and isinstance(scenes[0], Scene) else "arrays"
        matrices = None if transforms is None else _meshes.matrices(transforms, len(scenes))
        parts = [scene._pairs() if isinstance(scene, Scene) else _meshes.parts(scene) for scene in scenes]
        if matrices is not None:  # of each part
            matrices = np.repeat(matrices, [len(some) for some in parts], axis=0)
        return cls._joined(_meshes.joined([one for some in parts for one in some], matrices), path, center)

    @classmethod
    def _joined(cls, mesh, path, center):
        rounded, origin = _precision.single(mesh.vertices, mesh.triangles, center)
        core = _core.Scene.from_arrays(rounded, mesh.triangles, path)
        return cls._of(core, origin, (mesh.first_vertices, mesh.first_triangles))

    @classmethod
    def _of(cls, core, origin=(0, 0, 0), starts=None):
        scene = cls.__new__(cls)
        scene._scene = core
        scene._origin = np.array(origin, np.float64)
        scene._starts = starts
        return scene

    @classmethod
    def _unpickled(cls, vertices, triangles, path, origin, starts=None):
        return cls._of(_core.Scene.from_arrays(vertices, triangles.astype(np.int64), path), origin, starts)

    def __reduce__(self):
        return Scene._unpickled, (self.vertices, self.triangles, self.path, self._origin, self._starts)

    def _exact(self):
        """Vertices, where they are, and triangles."""
        return (self.vertices + self._origin if self._origin.any() else self.vertices), self.triangles

    def _pairs(self):
        """Vertices, where they are, and triangles of each mesh."""
        vertices, triangles = self._exact()
        first, begin = self.first_vertices, self.first_triangles
        return [(vertices[first[i]:first[i + 1]], triangles[begin[i]:begin[i + 1]] - first[i])
                for i in range(len(first) - 1)]

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
        _files.write_obj(name, *self._exact())

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
    def first_triangles(self) -> np.ndarray:
        """(N + 1,) int64: the triangles of mesh i are those from ``first_triangles[i]`` to
        ``first_triangles[i + 1]``, exclusive. N is 1 unless the scene was made of several."""
        return np.array([0, len(self)]) if self._starts is None else self._starts[1].copy()

    @property
    def first_vertices(self) -> np.ndarray:
        """(N + 1,) int64: likewise for vertices."""
        return np.array([0, len(self.vertices)]) if self._starts is None else self._starts[0].copy()

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


def load(name: Union[str, PathLike], *, center: bool = False) -> Scene:
    """Reads a scene, or makes one.

    Args:
        name: the path of a Wavefront OBJ file (also ``.obj.xz``, ``.obj.gz``), of a ``.list``
            of several that are one scene, of a ``.kdt`` file, whose tree's scene it is, of a ``.ply``, ``.stl``,
            ``.off``, ``.glb`` or ``.gltf`` file, which trimesh reads where it is installed; or
            ``gen:NAME:TRIANGLES[:SEED]``; ``heapwood list`` has the names of the generators.
        center: as of ``Scene``. Files that trimesh reads are shifted before they are rounded to float32.

    Warns:
        UserWarning: a scene far from the origin for its size, of which no triangle has an area, or
            with concave polygons that are not cut right.
        PrecisionWarning: as ``Scene``, for what trimesh reads.

    Raises:
        SceneError: a file that cannot be read, with the line, or an unknown generator. TreeFileError: a damaged
            ``.kdt`` file.
        MemoryError: a scene that the machine's memory has no room for.

    Example:
        >>> heapwood.load("gen:sphere:1000")
        Scene('gen:sphere:1000': 1,000 triangles, 605 vertices)
    """
    path = os.fsdecode(name)
    if _foreign.reads(path):
        try:
            return Scene._joined(_meshes.joined(_foreign.meshes(path)), path, center)
        except (TypeError, ValueError) as error:
            raise error if isinstance(error, SceneError) else SceneError(f"{path}: {error}") from None
    try:
        core = _core.Scene.load(path)
    except SceneError:
        if not _is_tree(path):
            raise
        core = _core.Tree.load(path, "cpu").scene
    for warning in core.warnings:
        warn(warning)
    if not center:
        return Scene._of(core)
    return Scene._joined(_meshes.joined([(core.vertices, core.triangles)]), path, center)


def _is_mesh(thing):
    return isinstance(thing, (str, PathLike, Scene)) or _meshes.is_mesh(thing) or _meshes.is_pair(thing)


def _is_tree(path):
    if not os.path.isfile(path):  # a named pipe without a writer would be waited for
        return False
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(len(_core.tree_magic)) == _core.tree_magic
    return False
