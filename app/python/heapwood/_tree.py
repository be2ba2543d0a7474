"""Trees, and rays through them."""

import json
import os
from functools import cached_property
from os import PathLike
from typing import BinaryIO, Optional, Union

import numpy as np

from heapwood import _arrays, _core, _files
from heapwood._distances import DistanceCalls
from heapwood._rays import RayCalls
from heapwood._scene import Scene
from heapwood._types import Times
from heapwood.errors import NoDevice, VerificationError, warn

node_dtype = np.dtype({
    "names": ["plane", "first", "tagged"],
    "formats": ["<f4", "<u4", "<u4"],
    "offsets": [0, 0, 4],
    "itemsize": 8,
})
"""A node in 8 bytes. ``tagged & 3`` is the axis of an inner node's ``plane``, or 3 for a leaf, and
``tagged >> 2`` the number of the left child, or of the leaf's references from ``first`` on. ``plane`` and
``first`` are the same four bytes. The right child follows the left one."""


class Tree(RayCalls, DistanceCalls):
    """A kd-tree of a scene, for rays and distances. ``build`` and ``load_tree`` make trees.

    **Rays.** ``origins`` and ``directions`` are real numbers of the shape (..., 3): the points
    ``origin + t * direction`` with ``t_min <= t <= t_max``. A direction need not have length 1. ``t_min``
    and ``t_max`` are numbers, or arrays. The shapes of all four, without the vectors' last axis, broadcast
    as NumPy's do: (V, 1, 3) and (V, K, 3) are V K rays, and one origin may be (3,). Rays are traced in single precision; float32 arrays are read as they lie,
    whatever their strides, other numbers are converted. A ray that is not finite, has no direction, or
    ends before it begins meets nothing.

    **Where.** Arrays are of NumPy, CuPy, Torch, JAX, or any other library that speaks DLPack. Results
    are of the library of ``origins``, where the rays lie. Rays on a GPU need a tree there
    (``tree.device == "cuda"``), and are read and answered there without a copy to the host. Rays on the
    host may go through a tree on a GPU: they are copied there, and their results back.

    **How.** ``coherent=True`` is faster where neighbouring rays are alike, as those of a camera are. On a CPU
    ``closest_hit`` and ``any_hit`` find that by themselves where neighbours are less than half a degree apart.
    ``fast=True`` takes a faster test of triangles that is wrong for a few rays in a million.
    ``threads`` is for trees on the CPU; 0: one a core. Python's lock is released meanwhile.

    **Long calls.** ``progress`` is as of ``heapwood.compare``: ``None`` shows a bar for more than four million rays, a
    function gets the numbers of rays, each time that another million is done. Ctrl-C ends a call on a CPU.

    **Streams.** ``stream`` is for rays on a GPU: a stream of CuPy or Torch, or its address. Then
    ``closest_hit``, ``any_hit`` and ``count`` return at once, and results are there when the stream has
    come past; rays must be ready on it, and they and the tree must live until then. Without a stream
    rays must be ready on CUDA's default stream, where CuPy and Torch compute unless told otherwise, and a
    call returns when its results are there. JAX has no streams to choose: use none.

    **Results** are new arrays, or those of ``out``: contiguous and of the shapes and types that the call says, of
    the library of ``origins``, where the rays lie. ``closest_hit`` takes a tuple of three, ``hits`` its own
    object, ``any_hit`` and ``count`` an array, and each returns what it was given. A result of NumPy's may be an
    array that rays lie in; on a GPU none may.

    Results are the bits that testing every triangle gives, on every device. A triangle is met from both
    sides, on its edges and corners, but not exactly edge-on.

    **Distances.** ``closest_point``, ``distance``, ``signed_distance``, ``contains``, ``within`` and
    ``overlaps`` take points, or boxes, as ``closest_hit`` takes origins: on the CPU or a GPU, with ``threads`` and ``stream``.
    They have no ``out``.

    Trees can be pickled and copied, and so go to other processes; one on a GPU needs a GPU there.
    """

    _tree: _core.Tree
    _origin: np.ndarray
    _starts: Optional["tuple[np.ndarray, np.ndarray]"]  # of meshes

    def __init__(self, *_, **__):
        raise TypeError("trees come from heapwood.build or heapwood.load_tree")

    @classmethod
    def _of(cls, core, origin=(0, 0, 0), starts=None):
        tree = cls.__new__(cls)
        tree._tree = core
        tree._origin = np.array(origin, np.float64)
        tree._starts = starts
        tree._shift = tree._origin if tree._origin.any() else None
        return tree

    @classmethod
    def _unpickled(cls, file, path, report, device, origin, starts=None):
        with _files.in_memory(file, path) as name:
            return cls._of(_core.Tree.load(name, ray_device(device), path, report), origin, starts)

    def __reduce__(self):
        return Tree._unpickled, (self._tree.file_bytes(), self.scene.path, self._tree.report, self.device,
                                 self._origin, self._starts)

    # What it is

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"cuda"``: where rays are traced. Arrays of the tree are on the host, when they are asked for."""
        return self._tree.device

    @cached_property
    def scene(self) -> Scene:
        """The scene that the tree is of."""
        return Scene._of(self._tree.scene, self._origin, self._starts)

    @property
    def _source(self):
        return self.scene if self._tree.times is None else self

    @property
    def origin(self) -> np.ndarray:
        """(3,) float64: the point that the tree's planes and vertices count from, zeros unless it was built
        with ``center=True``. Rays are not shifted by the caller."""
        return self._origin.copy()

    @property
    def vertices(self) -> np.ndarray:
        """(V, 3) float32. A read-only view, which keeps the scene."""
        return self.scene.vertices

    @property
    def triangles(self) -> np.ndarray:
        """(T, 3) uint32. A read-only view, which keeps the scene."""
        return self.scene.triangles

    @property
    def nodes(self) -> np.ndarray:
        """(N,) of ``heapwood.node_dtype``, the root first. A read-only view, which keeps the tree.

        Example:
            >>> nodes = heapwood.build(heapwood.load("gen:sphere:1000")).nodes
            >>> leaves = nodes[nodes["tagged"] & 3 == 3]
            >>> inner = nodes[nodes["tagged"] & 3 != 3]
            >>> len(leaves) == len(inner) + 1
            True
        """
        return self._tree.nodes.view(node_dtype)[:, 0]

    @property
    def references(self) -> np.ndarray:
        """(R,) uint32: the triangles of all leaves, one leaf after another. A read-only view."""
        return self._tree.references

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits: the same for every allocator, device and number of threads."""
        return self._tree.digest

    @cached_property
    def quality(self) -> _core.Quality:
        """Counts and expected costs: ``nodes``, ``leaves``, ``references``, ``max_depth``, ``I``, ``L``,
        ``P``, and ``sah(traversal_cost=1, intersection_cost=1.5)``."""
        return self._tree.quality

    # How it was built

    @cached_property
    def report(self) -> Optional[dict]:
        """All figures of the build: a dict, as in the ``results`` of ``heapwood build --json``. ``None``
        for a tree from a file."""
        return json.loads(self._tree.report) if self._tree.report else None

    @property
    def times(self) -> Optional[Times]:
        """Milliseconds of the build: a dict of ``build_ms``, ``upload_ms`` (making the arrays, and
        the scene into them; ``None`` on a CPU) and ``pool_ms`` (making the pool). ``None`` for a tree
        from a file."""
        in_place = self._tree.times
        if in_place is not None:
            return {"build_ms": in_place[0], "upload_ms": in_place[1], "pool_ms": in_place[2]}
        if self.report is None:
            return None
        build = self.report["build"]
        return {"build_ms": build["ms"]["median"], "upload_ms": build["upload_ms"],
                "pool_ms": build["pool_ms"]}

    @property
    def statistics(self) -> Optional[dict]:
        """The build's requests: a dict of ``requests``, ``frees``, ``mean_bytes``, ``peak_live_bytes``,
        ... ``None`` unless ``build(..., statistics=True)`` counted them."""
        return None if self.report is None else self.report["allocations"]

    # What one does with it

    def to(self, device: str) -> "Tree":
        """The tree for rays on another device, ``"cpu"`` or ``"cuda"`` (``"gpu"``); nodes and scene are
        shared.

        Raises:
            ValueError: no such device. NoDevice: there is no GPU.
        """
        return Tree._of(self._tree.to(ray_device(device)), self._origin, self._starts)

    def save(self, file: Union[str, PathLike, BinaryIO]) -> None:
        """Writes the tree, with its triangles, to a ``.kdt`` file.

        Args:
            file: its path, or an object with a method ``write`` that takes bytes.

        A file has one mesh, and no origin: that of a tree that was built with ``center=True`` goes to ``load_tree``.

        Raises:
            TreeFileError: the file cannot be written; a former one stays as it was.
            TypeError: the object takes text.

        Example:
            >>> import io
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
            >>> file = io.BytesIO()
            >>> tree.save(file)
            >>> _ = file.seek(0)
            >>> heapwood.load_tree(file).digest == tree.digest
            True
        """
        path = None if hasattr(file, "write") else os.fsdecode(file)
        if self._origin.any():
            warn(f"{path or file!r}: a file has no origin: keep tree.origin, and pass it to "
                 f"load_tree(path, origin={self.origin.tolist()})")
        if path is None:
            _files.write_bytes(file, self._tree.file_bytes())
        else:
            self._tree.save(path)

    def verify(self) -> None:
        """Checks the tree against its scene, by code that shares nothing with the builder.

        Raises:
            VerificationError: the first fault, in a sentence.
        """
        fault = self._tree.verify()
        if fault is not None:
            raise VerificationError(fault)

    def __repr__(self):
        return (f"Tree({self.scene.path!r}: {len(self.triangles):,} triangles, "
                f"{len(self.nodes):,} nodes, on {self.device})")


def ray_device(device):
    """A device's name, of one that is there."""
    device = _arrays.device(device)
    if device == "cuda" and not cuda_available():
        raise NoDevice("no GPU to trace rays on: " + _core.cuda_absence())
    return device


def cuda_available() -> bool:
    """Whether trees can be built, and rays traced, on a GPU here."""
    return not _core.cuda_absence()
