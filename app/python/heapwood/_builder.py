"""Trees that are rebuilt, frame after frame, and traced where they lie."""

from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from heapwood import _arrays, _core
from heapwood._build import builder_arguments, tree_arguments
from heapwood._distances import PointCalls
from heapwood._rays import RayCalls
from heapwood._scene import Scene
from heapwood._tree import Tree
from heapwood._types import AnyArray

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from heapwood._parameters import TreeParameters


class Builder(RayCalls, PointCalls):
    """Builds tree after tree of triangles whose vertices move, and keeps its memory between them.

    On a GPU vertices of CuPy, Torch or JAX, the tree, rays and hits stay there: nothing of them passes the
    host. Trees and hits are those of ``heapwood.build``, bit for bit.

    Args:
        triangles: (T, 3) whole numbers: the vertices of each triangle, counted from 0. They are copied.
        device: ``"cpu"`` or ``"cuda"`` (``"gpu"``); the default is where the triangles lie.
        allocator, pool, grow, threads, options, preset, **parameters: as of ``heapwood.build``. A pool keeps what it
            has grown by.

    ``closest_hit``, ``hits``, ``any_hit``, ``count`` and ``all_hits`` are those of ``heapwood.Tree``, through the last
    tree, and so are ``closest_point``, ``distance``, ``within`` and ``overlaps``. Threads may share a builder: a rebuild waits for the calls of others, and they for it. Kernels
    of a call with a stream may go on when the call has returned; rebuild on the same stream.

    Raises:
        ValueError, TypeError: a wrong argument. OutOfPool: the pool is below what the allocator needs. NoDevice: there
            is no GPU.

    Example:
        >>> corners = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float32)
        >>> builder = heapwood.Builder([[0, 1, 2]])
        >>> for height in range(3):
        ...     builder.rebuild(corners + np.float32([0, 0, height]))
        ...     t, primitive, _ = builder.closest_hit([[1, 2, 5]], [0, 0, -1])
        ...     print(t.tolist(), primitive.tolist())
        [5.0] [0]
        [4.0] [0]
        [3.0] [0]
    """

    _tree: _core.Builder
    _shift = None

    def __init__(self, triangles: AnyArray, *, device: Optional[str] = None, allocator: str = "cambium",
                 pool: Optional[str] = None, grow: Union[bool, str] = False, threads: int = 0,
                 options: Optional[dict] = None, preset: str = "default", **parameters: "Unpack[TreeParameters]"):
        if device is None:
            device = "cpu" if _arrays.on_host(triangles) else "cuda"
        self._device = _arrays.device(device)
        self._triangles = _arrays.triangles(triangles, "at most 2^31").copy()
        wrong = np.argwhere((self._triangles < 0) | (self._triangles >= 2**31))
        if len(wrong):
            raise ValueError(f"triangle {wrong[0][0]} refers to vertex {self._triangles[tuple(wrong[0])]}: vertices "
                             "of a builder are numbered from 0 to 2^31 - 1")
        self._corners: Any = None  # the triangles on the GPU, of the library of the vertices
        self._vertices: Any = None  # of the last tree, where no scene of the host has them
        self._scene: Optional[Scene] = None
        self._tree = _core.Builder.make(len(self._triangles), self._device,
                                        *builder_arguments(allocator, pool, grow, threads, options),
                                        *tree_arguments(preset, parameters))

    def rebuild(self, vertices: AnyArray, *, stream: Any = None) -> None:
        """Builds the tree of the triangles with their vertices at these positions.

        Args:
            vertices: (V, 3) real numbers, of any library and on any device. With a builder on a GPU those that
                lie there are read there; they must stay as they are until the call returns.
            stream: of a builder on a GPU: a stream of CuPy or Torch, or its address. The tree is ready for rays
                on this stream. The default is the library's current stream, and the tree is ready when the
                call returns.

        Python's lock is released meanwhile. After an error there is no tree until the next call; a wrong shape, and
        a fault of vertices on the host, leave the former tree.

        Raises:
            ValueError: a wrong shape, a coordinate that is not finite, or a vertex that does not exist.
            OutOfPool, MemoryError: as of ``heapwood.build``.

        Warns:
            PrecisionWarning: as ``Scene``, for vertices on the host.
        """
        handle = _arrays.stream_handle(stream)
        if self._device == "cpu" and handle is not None:
            raise ValueError("stream is for a builder on a GPU, but this one is on the CPU")
        if self._device == "cpu" or _arrays.on_host(vertices):
            scene = Scene(vertices, self._triangles)
            self._scene = self._vertices = None
            self._tree.rebuild(scene._scene, handle or 0, handle is None)
            self._scene = scene
            return
        positions = _arrays.contiguous(_arrays.real(vertices, "vertices"))
        if len(positions.shape) != 2 or positions.shape[1] != 3:
            raise ValueError(f"vertices must have the shape (V, 3), not {tuple(positions.shape)}")
        if _arrays.module(self._corners) is not _arrays.module(positions):
            self._corners = _arrays.beside(self._triangles.astype(np.int32), positions)
        current = _arrays.current_stream(positions) if handle is None else handle
        self._scene = self._vertices = None
        self._tree.rebuild_in_place(positions, self._corners, current, handle is None)
        self._vertices = vertices

    def tree(self) -> Tree:
        """The last tree and its scene, copied: another rebuild leaves them as they are.

        Example:
            >>> sphere = heapwood.load("gen:sphere:1000")
            >>> builder = heapwood.Builder(sphere.triangles)
            >>> builder.rebuild(sphere.vertices)
            >>> builder.tree().digest == heapwood.build(sphere).digest
            True
        """
        scene = self.scene
        return Tree._of(self._tree.tree(scene._scene), scene._origin, None)

    @property
    def scene(self) -> Scene:
        """The scene of the last tree. Where the vertices lie on a GPU it is a copy of what they are now."""
        if self._scene is None:
            if self._vertices is None:
                raise ValueError("the builder has no tree yet: rebuild() makes it")
            self._scene = Scene(self._vertices, self._triangles)
        return self._scene

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"cuda"``."""
        return self._device

    @property
    def build_ms(self) -> float:
        """Milliseconds of the last build, without copies and the layout for rays."""
        return self._tree.build_ms

    @property
    def pool_bytes(self) -> int:
        """The allocator's pool, with what it has grown by."""
        return self._tree.pool_bytes

    def __repr__(self):
        return f"Builder({len(self._triangles):,} triangles, on {self.device})"

    def __reduce__(self):
        raise TypeError("a builder cannot be pickled or copied: pickle builder.tree()")
