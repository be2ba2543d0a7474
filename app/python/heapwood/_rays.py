"""Rays through a tree: the half of ``heapwood.Tree`` that traces."""

import math
from typing import TYPE_CHECKING, Any, Optional, overload

import numpy as np

from heapwood import _arrays, _core
from heapwood._hits import Hits
from heapwood._scene import Scene
from heapwood._types import AnyArray, Array, HostArray, Progress, RayOptions, RayOptionsAndOut

if TYPE_CHECKING:
    from typing_extensions import Unpack

# What the compiled module answers: names of results, types of their numbers, and their last axes.
_CLOSEST = ("t", "float32", ()), ("primitive", "int32", ()), ("barycentrics", "float32", (2,))
_FOUND = (("found", "bool", ()),)
_COUNT = (("count", "int32", ()),)
_LONG = 1 << 22  # rays of a call that shows a bar without being asked


class RayCalls:
    """What a tree answers to rays; ``heapwood.Tree`` says what rays are."""

    _tree: _core.RaySource
    _shift: Optional[np.ndarray]  # that rays are shifted by

    if TYPE_CHECKING:
        @property
        def scene(self) -> Scene: ...

    @property
    def _source(self) -> Any:
        """What hits have their scene from."""
        return self.scene

    @overload
    def closest_hit(self, origins: HostArray, directions: AnyArray, t_min: AnyArray = ...,
                    t_max: AnyArray = ..., **how: "Unpack[RayOptionsAndOut]") -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    @overload
    def closest_hit(self, origins: Array, directions: Any, t_min: Any = ..., t_max: Any = ...,
                    **how: "Unpack[RayOptionsAndOut]") -> tuple[Array, Array, Array]: ...
    def closest_hit(self, origins: AnyArray, directions: AnyArray, t_min: AnyArray = 0.0,
                    t_max: AnyArray = np.inf, *, coherent: bool = False, fast: bool = False,
                    threads: int = 0, stream: Any = None, out: Any = None,
                    progress: Progress = None) -> tuple[Any, Any, Any]:
        """The first hit of each ray.

        Returns:
            ``(t, primitive, barycentrics)`` of the rays' shape: float32, int32, and float32 with a last
            axis of 2. The hit is at ``origin + t * direction`` and at ``(1 - u - v) a + u b + v c`` of the
            triangle's corners. A ray without a hit has t = infinity, primitive -1 and zeros.

        Example:
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
            >>> t, primitive, uv = tree.closest_hit([[1, 2, 5], [9, 9, 5]], [0, 0, -1])
            >>> t.tolist(), primitive.tolist(), uv.tolist()
            ([5.0, inf], [0, -1], [[0.25, 0.5], [0.0, 0.0]])
        """
        return self._trace(_core.closest_hit, _CLOSEST, origins, directions, t_min, t_max, coherent, fast,
                           threads, stream, progress, out)

    @overload
    def hits(self, origins: HostArray, directions: AnyArray, t_min: AnyArray = ..., t_max: AnyArray = ...,
             **how: "Unpack[RayOptionsAndOut]") -> Hits[np.ndarray]: ...
    @overload
    def hits(self, origins: Array, directions: Any, t_min: Any = ..., t_max: Any = ...,
             **how: "Unpack[RayOptionsAndOut]") -> Hits[Array]: ...
    def hits(self, origins: AnyArray, directions: AnyArray, t_min: AnyArray = 0.0, t_max: AnyArray = np.inf,
             *, coherent: bool = False, fast: bool = False, threads: int = 0, stream: Any = None,
             out: Any = None, progress: Progress = None) -> Any:
        """The first hit of each ray, and its point, its normal and what vertices have there.

        Returns:
            ``heapwood.Hits``: ``t``, ``primitive`` and ``barycentrics`` as of ``closest_hit``, ``mask``, ``points``
            and ``normals``. ``heapwood.interpolate`` takes it. ``out``: such an object, for as many rays of
            the same library, whose arrays are written anew; it is what is returned.

        Example:
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
            >>> hits = tree.hits([[1, 2, 5], [9, 9, 5]], [0, 0, -1])
            >>> hits.mask.tolist(), hits.t.tolist(), hits.primitive.tolist()
            ([True, False], [5.0, inf], [0, -1])
            >>> tree.hits([[9, 9, 5], [1, 2, 5]], [0, 0, -1], out=hits) is hits, hits.mask.tolist()
            (True, [False, True])
        """
        if out is not None and not isinstance(out, Hits):
            raise TypeError(f"out must be hits, as hits() returns them, not {out!r}")
        arrays = None if out is None else (out.t, out.primitive, out.barycentrics)
        arrays = self._trace(_core.closest_hit, _CLOSEST, origins, directions, t_min, t_max, coherent, fast,
                             threads, stream, progress, arrays)
        if out is None:
            return Hits(self._source, *arrays)
        out.__dict__.clear()  # what was computed of the former hits
        Hits.__init__(out, self._source, *arrays)
        return out

    @overload
    def any_hit(self, origins: HostArray, directions: AnyArray, t_min: AnyArray = ...,
                t_max: AnyArray = ..., **how: "Unpack[RayOptionsAndOut]") -> np.ndarray: ...
    @overload
    def any_hit(self, origins: Array, directions: Any, t_min: Any = ..., t_max: Any = ...,
                **how: "Unpack[RayOptionsAndOut]") -> Array: ...
    def any_hit(self, origins: AnyArray, directions: AnyArray, t_min: AnyArray = 0.0,
                t_max: AnyArray = np.inf, *, coherent: bool = False, fast: bool = False,
                threads: int = 0, stream: Any = None, out: Any = None,
                progress: Progress = None) -> Any:
        """Whether each ray meets anything: bool, of the rays' shape.

        Example:
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
            >>> tree.any_hit([1, 2, 5], [[0, 0, -1], [0, 0, 1]], t_max=9).tolist()
            [True, False]
        """
        (found,) = self._trace(_core.any_hit, _FOUND, origins, directions, t_min, t_max, coherent, fast,
                            threads, stream, progress, None if out is None else (out,))
        return found

    @overload
    def count(self, origins: HostArray, directions: AnyArray, t_min: AnyArray = ...,
              t_max: AnyArray = ..., **how: "Unpack[RayOptionsAndOut]") -> np.ndarray: ...
    @overload
    def count(self, origins: Array, directions: Any, t_min: Any = ..., t_max: Any = ...,
              **how: "Unpack[RayOptionsAndOut]") -> Array: ...
    def count(self, origins: AnyArray, directions: AnyArray, t_min: AnyArray = 0.0,
              t_max: AnyArray = np.inf, *, coherent: bool = False, fast: bool = False,
              threads: int = 0, stream: Any = None, out: Any = None,
              progress: Progress = None) -> Any:
        """How many triangles each ray meets: int32, of the rays' shape.

        A ray through an edge meets both of its triangles, and one through a corner all of them, so an odd
        number does not say that a point is inside. For a closed mesh whose triangles wind alike, the side
        from which the first one is met says it; of a direction that no edge has:

            >>> points = np.array([[0.2, 0.1, 0], [9, 9, 9], [0, 0, 0]])
            >>> sphere = heapwood.build(heapwood.load("gen:sphere:1000"))
            >>> a, b, c = sphere.vertices[sphere.triangles].transpose(1, 0, 2)
            >>> direction = np.array([0.4395, 0.6342, 0.6361])
            >>> leaves = np.cross(b - a, c - a) @ direction > 0
            >>> _, primitive, _ = sphere.closest_hit(points, direction)
            >>> ((primitive >= 0) & leaves[primitive]).tolist()
            [True, False, True]

        Example:
            >>> sphere = heapwood.build(heapwood.load("gen:sphere:1000"))
            >>> sphere.count([[0, 0, 0], [9, 9, 9]], [[1, 2, 3], [1, 0, 0]]).tolist()
            [1, 0]
        """
        (counts,) = self._trace(_core.count, _COUNT, origins, directions, t_min, t_max, coherent, fast,
                            threads, stream, progress, None if out is None else (out,))
        return counts

    @overload
    def all_hits(self, origins: HostArray, directions: AnyArray, t_min: AnyArray = ...,
                 t_max: AnyArray = ..., **how: "Unpack[RayOptions]") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
    @overload
    def all_hits(self, origins: Array, directions: Any, t_min: Any = ..., t_max: Any = ...,
                 **how: "Unpack[RayOptions]") -> tuple[Array, Array, Array, Array]: ...
    def all_hits(self, origins: AnyArray, directions: AnyArray, t_min: AnyArray = 0.0,
                 t_max: AnyArray = np.inf, *, coherent: bool = False, fast: bool = False,
                 threads: int = 0, stream: Any = None,
                 progress: Progress = None) -> tuple[Any, Any, Any, Any]:
        """All hits of all rays, those of a ray front to back.

        Returns:
            ``(offsets, t, primitive, barycentrics)``: int64 of N + 1, float32, int32 and float32 with a
            last axis of 2. The hits of ray i, in the order of the rays, are those from ``offsets[i]`` to
            ``offsets[i + 1]``, exclusive. At the same t the smaller primitive comes first. The call
            returns when all is there, also with a stream.

        Example:
            >>> sphere = heapwood.build(heapwood.load("gen:sphere:1000"))
            >>> offsets, t, primitive, uv = sphere.all_hits([[-9, 0.1, 0.2]], [[1, 0, 0]])
            >>> offsets.tolist(), bool(t[0] < t[1])
            ([0, 2], True)
        """
        return self._trace(_core.all_hits, (), origins, directions, t_min, t_max, coherent, fast, threads,
                           stream, progress)

    def _trace(self, function, kinds, origins, directions, t_min, t_max, coherent, fast, threads, stream,
               progress, out=None):
        """The results of a function of the compiled module, those of ``kinds`` in the shape of the rays."""
        rays, shape = _arrays.rays(origins, directions, t_min, t_max, self._shift)
        how = bool(coherent), bool(fast), _arrays.thread_count(threads), _arrays.stream_handle(stream)
        rows = []
        if out is not None:
            rows, rays = _arrays.outs(out, kinds, shape, rays)

        def call(rays, rows):
            to = (None,) if kinds else ()
            if rows:
                to = (rows[0] if len(rows) == 1 else tuple(rows),)
            return function(self._tree, *rays, *how, *to)

        count = math.prod(shape)
        if progress is False or (progress is None and (count <= _LONG or stream is not None)):
            results = call(rays, rows)
        else:
            results = self._in_batches(call, rays, count, rows, progress, origins, function.__name__, stream)
        if out is not None:
            return out
        if not isinstance(results, tuple):
            results = (results,)
        results = tuple(_arrays.like(origins, result) for result in results)
        if len(shape) == 1 or not kinds:  # as the compiled module has them
            return results
        return tuple(result.reshape(shape + rest) for result, (_, _, rest) in zip(results, kinds))

    def _in_batches(self, call, rays, count, rows, progress, origins, what, stream):
        from heapwood import _ray_batches  # few calls need it

        if stream is not None:
            raise ValueError("progress is of calls that wait for their results: leave out stream, or progress")
        return _ray_batches.trace(call, rays, count, rows, progress, origins, what)
