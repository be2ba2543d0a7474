"""Distances to a tree's triangles: the half of ``heapwood.Tree`` that measures."""

from typing import TYPE_CHECKING, Any, Literal, Optional, overload

import numpy as np

from heapwood import _arrays, _core
from heapwood._scene import Scene
from heapwood._types import AnyArray, Array, HostArray, PointOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

Number = Literal["any", "count"]
Sign = Literal["normals", "crossings"]


class DistanceCalls:
    """What a tree answers to points and boxes; ``heapwood.Tree`` says where arrays may lie.

    Points and boxes are read, converted and answered as rays are; ``threads`` and ``stream`` are as there.
    Distances are computed in double precision from coordinates in single precision, and rounded to it. A point
    that is not finite has no nearest triangle.
    """

    _tree: _core.Tree
    _shift: Optional[np.ndarray]  # that points are shifted by

    if TYPE_CHECKING:
        @property
        def scene(self) -> Scene: ...

    @overload
    def closest_point(self, points: HostArray, max_distance: AnyArray = ..., **how: "Unpack[PointOptions]"
                      ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
    @overload
    def closest_point(self, points: Array, max_distance: Any = ..., **how: "Unpack[PointOptions]"
                      ) -> tuple[Array, Array, Array, Array]: ...
    def closest_point(self, points: AnyArray, max_distance: AnyArray = np.inf, *, threads: int = 0,
                      stream: Any = None) -> tuple[Any, Any, Any, Any]:
        """The nearest point of all triangles to each point.

        Args:
            points: (..., 3) real numbers.
            max_distance: what is farther away is not found; what is exactly as far is. A number, or an array
                that broadcasts with the points' shape without the last axis.

        Returns:
            ``(distance, primitive, barycentrics, closest)`` of the points' shape: float32, int32, float32
            with a last axis of 2, and float32 with one of 3 (float64 of a tree with an ``origin``).
            ``closest`` is ``(1 - u - v) a + u b + v c`` of the triangle's corners. At the same
            distance the smallest primitive counts. Where none is found, the distance is infinity, the primitive
            -1, and ``closest`` NaN.

        Example:
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
            >>> distance, primitive, uv, closest = tree.closest_point([[1, 2, 5], [1, -3, 4], [9, 9, 9]], 5)
            >>> distance.tolist(), primitive.tolist(), closest.tolist()
            ([5.0, 5.0, inf], [0, 0, -1], [[1.0, 2.0, 0.0], [1.0, 0.0, 0.0], [nan, nan, nan]])
        """
        rows, most, shape = _arrays.points(points, max_distance, "max_distance", self._shift)
        found = _core.closest_point(self._tree, rows, most, *_how(threads, stream))
        distance, primitive, barycentrics, closest = (
            _arrays.like(points, array).reshape(shape + rest)
            for array, rest in zip(found, ((), (), (2,), (3,))))
        if self._shift is not None:
            closest = _arrays.double(closest) + _arrays.beside(self._shift, distance)
        missing = (primitive < 0)[..., None]
        return distance, primitive, barycentrics, _arrays.module(distance).where(missing, np.nan, closest)

    @overload
    def distance(self, points: HostArray, max_distance: AnyArray = ..., **how: "Unpack[PointOptions]"
                 ) -> np.ndarray: ...
    @overload
    def distance(self, points: Array, max_distance: Any = ..., **how: "Unpack[PointOptions]") -> Array: ...
    def distance(self, points: AnyArray, max_distance: AnyArray = np.inf, *, threads: int = 0,
                 stream: Any = None) -> Any:
        """How far each point is from the nearest triangle: float32 of the points' shape, infinity where
        ``closest_point`` finds none.

        Example:
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
            >>> tree.distance([[1, 2, 5], [1, 1, 0]]).tolist()
            [5.0, 0.0]
        """
        rows, most, shape = _arrays.points(points, max_distance, "max_distance", self._shift)
        found = _core.distance(self._tree, rows, most, *_how(threads, stream))
        return _arrays.like(points, found).reshape(shape)

    @overload
    def signed_distance(self, points: HostArray, *, sign: Sign = ..., **how: "Unpack[PointOptions]"
                        ) -> np.ndarray: ...
    @overload
    def signed_distance(self, points: Array, *, sign: Sign = ..., **how: "Unpack[PointOptions]") -> Array: ...
    def signed_distance(self, points: AnyArray, *, sign: Sign = "normals", threads: int = 0,
                        stream: Any = None) -> Any:
        """The distance of each point, negative inside: float32 of the points' shape.

        Args:
            points: (..., 3) real numbers.
            sign: ``"normals"``: by the angle-weighted normal of the nearest face, edge or corner. It is right
                where ``open_edges`` is 0: the mesh is closed, and its triangles are seen counterclockwise from
                outside. Of an open mesh it is the side of the nearest part, as if that went on beyond its border.
                ``"crossings"``: by odd numbers of triangles along two of three rays, for closed meshes whose
                triangles do not wind alike; of an open mesh it is what the rays meet.

        A point on the surface has 0, one that is not finite infinity.

        Example:
            >>> box = heapwood.load("gen:sphere:1000")
            >>> tree = heapwood.build(box)
            >>> middle = (box.bounds[0] + box.bounds[1]) / 2
            >>> bool(tree.signed_distance(middle, sign="crossings") < 0)
            True
        """
        rows, _, shape = _arrays.points(points, 0.0, "", self._shift)
        found = _core.signed_distance(self._tree, rows, _by_normals(sign), *_how(threads, stream))
        return _arrays.like(points, found).reshape(shape)

    @overload
    def contains(self, points: HostArray, *, sign: Sign = ..., **how: "Unpack[PointOptions]") -> np.ndarray: ...
    @overload
    def contains(self, points: Array, *, sign: Sign = ..., **how: "Unpack[PointOptions]") -> Array: ...
    def contains(self, points: AnyArray, *, sign: Sign = "normals", threads: int = 0, stream: Any = None) -> Any:
        """Whether each point is inside the mesh, or on it: bool of the points' shape. ``sign`` as of
        ``signed_distance``.

        Example:
            >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
            >>> tree = heapwood.build(corners, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
            >>> tree.contains([[0.1, 0.1, 0.1], [1, 1, 1], [0, 0, 0]]).tolist(), tree.open_edges
            ([True, False, True], 0)
        """
        rows, _, shape = _arrays.points(points, 0.0, "", self._shift)
        found = _core.contains(self._tree, rows, _by_normals(sign), *_how(threads, stream))
        return _arrays.like(points, found).reshape(shape)

    @property
    def open_edges(self) -> int:
        """How many edges of the mesh do not join two triangles that wind alike, corners at the same position
        being one: 0 of a closed mesh, where signs by normals are right."""
        return _core.open_edges(self._tree)

    @overload
    def within(self, points: HostArray, radius: AnyArray, result: Number, **how: "Unpack[PointOptions]"
               ) -> np.ndarray: ...
    @overload
    def within(self, points: HostArray, radius: AnyArray, result: Literal["list"] = ...,
               **how: "Unpack[PointOptions]") -> tuple[np.ndarray, np.ndarray]: ...
    @overload
    def within(self, points: Array, radius: Any, result: Number, **how: "Unpack[PointOptions]") -> Array: ...
    @overload
    def within(self, points: Array, radius: Any, result: Literal["list"] = ..., **how: "Unpack[PointOptions]"
               ) -> tuple[Array, Array]: ...
    def within(self, points: AnyArray, radius: AnyArray, result: str = "list", *, threads: int = 0,
               stream: Any = None) -> Any:
        """The triangles at most a radius away from each point; one exactly as far away counts.

        Args:
            points: (..., 3) real numbers.
            radius: a number, or an array that broadcasts with the points' shape without the last axis.
            result: ``"list"``, ``"count"`` or ``"any"``.

        Returns:
            Of ``"list"`` a tuple ``(offsets, primitive)``, int64 of N + 1 and int32: the triangles of point i, in
            the order of the points, are those from ``offsets[i]`` to ``offsets[i + 1]``, exclusive,
            ascending, each once. Of ``"count"`` int32, of ``"any"`` bool, of the points' shape.

        Example:
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 9]], [[0, 1, 2], [1, 2, 3]])
            >>> offsets, primitive = tree.within([[1, 1, 1], [9, 9, 9]], 1)
            >>> offsets.tolist(), primitive.tolist(), tree.within([4, 0, 0], 0, "count").tolist()
            ([0, 1, 1], [0], 2)
        """
        rows, radii, shape = _arrays.points(points, radius, "radius", self._shift)
        found = _core.within(self._tree, rows, radii, _result(result), *_how(threads, stream))
        return _triangles(points, found, shape)

    @overload
    def overlaps(self, boxes: HostArray, result: Number, **how: "Unpack[PointOptions]") -> np.ndarray: ...
    @overload
    def overlaps(self, boxes: HostArray, result: Literal["list"] = ..., **how: "Unpack[PointOptions]"
                 ) -> tuple[np.ndarray, np.ndarray]: ...
    @overload
    def overlaps(self, boxes: Array, result: Number, **how: "Unpack[PointOptions]") -> Array: ...
    @overload
    def overlaps(self, boxes: Array, result: Literal["list"] = ..., **how: "Unpack[PointOptions]"
                 ) -> tuple[Array, Array]: ...
    def overlaps(self, boxes: AnyArray, result: str = "list", *, threads: int = 0, stream: Any = None) -> Any:
        """The triangles that have a point in common with each box.

        Args:
            boxes: (..., 2, 3) real numbers: the lowest and the highest corner. Boxes are closed; ends may be
                infinite. A box with an end below its beginning, or NaN, has no triangles.
            result: as of ``within``, which says what is returned.

        A triangle beside a box by less than a few roundings of double precision may count.

        Example:
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
            >>> tree.overlaps([[[2, 2, 0], [3, 3, 1]], [[2.5, 2, 0], [3, 3, 1]]], "any").tolist()
            [True, False]
        """
        corners = _arrays.real(boxes, "boxes", self._shift)
        shape = tuple(corners.shape)
        if shape[-2:] != (2, 3):
            raise ValueError(f"boxes must have the shape (..., 2, 3), not {shape}")
        corners = corners.reshape(-1, 2, 3)
        found = _core.overlaps(self._tree, corners[:, 0], corners[:, 1], _result(result), *_how(threads, stream))
        return _triangles(boxes, found, shape[:-2])


def _how(threads, stream):
    return _arrays.thread_count(threads), _arrays.stream_handle(stream)


def _by_normals(sign):
    if sign not in ("normals", "crossings"):
        raise ValueError(f"sign must be 'normals' or 'crossings', not {sign!r}")
    return sign == "normals"


def _result(result):
    if result not in ("any", "count", "list"):
        raise ValueError(f"result must be 'any', 'count' or 'list', not {result!r}")
    return result


def _triangles(original, found, shape):
    if isinstance(found, tuple):
        return tuple(_arrays.like(original, array) for array in found)
    return _arrays.like(original, found).reshape(shape)
