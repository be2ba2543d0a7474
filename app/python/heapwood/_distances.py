"""Distances to a tree's triangles: the half of ``heapwood.Tree`` that measures."""

from typing import TYPE_CHECKING, Any, Literal, Optional, overload

import numpy as np

from heapwood import _arrays, _core
from heapwood._types import AnyArray, Array, HostArray, PointOptions, PointOptionsAndOut

if TYPE_CHECKING:
    from typing_extensions import Unpack

# What the compiled module answers: names of results, types of their numbers, and their last axes.
_NEAREST = ("distance", "float32", ()), ("primitive", "int32", ()), ("barycentrics", "float32", (2,))
_CLOSEST = *_NEAREST, ("closest", "float32", (3,))
_CLOSEST_FAR = *_NEAREST, ("closest", "float64", (3,))  # of a tree with an origin
_DISTANCE = (("distance", "float32", ()),)
_INSIDE = (("inside", "bool", ()),)
_NUMBERS = {"any": (("any", "bool", ()),), "count": (("count", "int32", ()),), "list": None}

Number = Literal["any", "count"]
Sign = Literal["normals", "crossings"]


class PointCalls:
    """What any tree answers to points and boxes; ``heapwood.Tree`` says where arrays may lie.

    Points and boxes are read, converted and answered as rays are; ``threads``, ``stream`` and ``out`` are as there.
    Distances are computed in double precision from coordinates in single precision, and rounded to it. A point
    that is not finite has no nearest triangle.
    """

    _tree: _core.RaySource
    _shift: Optional[np.ndarray]  # that points are shifted by

    @overload
    def closest_point(self, points: HostArray, max_distance: AnyArray = ..., **how: "Unpack[PointOptionsAndOut]"
                      ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
    @overload
    def closest_point(self, points: Array, max_distance: Any = ..., **how: "Unpack[PointOptionsAndOut]"
                      ) -> tuple[Array, Array, Array, Array]: ...
    def closest_point(self, points: AnyArray, max_distance: AnyArray = np.inf, *, threads: int = 0,
                      stream: Any = None, out: Any = None) -> tuple[Any, Any, Any, Any]:
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
        ask = _core.closest_point, points, shape, (rows, most), False, threads, stream
        if self._shift is None:
            return self._ask(_CLOSEST, *ask, out)
        if out is not None:
            _arrays.outs(out, _CLOSEST_FAR, shape, ())
        *rest, closest = self._ask(_CLOSEST, *ask)
        results = (*rest, _arrays.double(closest) + _arrays.beside(self._shift, closest))
        for array, result in zip(out or (), results):
            array[...] = result
        return results if out is None else out

    @overload
    def distance(self, points: HostArray, max_distance: AnyArray = ..., **how: "Unpack[PointOptionsAndOut]"
                 ) -> np.ndarray: ...
    @overload
    def distance(self, points: Array, max_distance: Any = ..., **how: "Unpack[PointOptionsAndOut]") -> Array: ...
    def distance(self, points: AnyArray, max_distance: AnyArray = np.inf, *, threads: int = 0,
                 stream: Any = None, out: Any = None) -> Any:
        """How far each point is from the nearest triangle: float32 of the points' shape, infinity where
        ``closest_point`` finds none.

        Example:
            >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
            >>> tree.distance([[1, 2, 5], [1, 1, 0]]).tolist()
            [5.0, 0.0]
        """
        rows, most, shape = _arrays.points(points, max_distance, "max_distance", self._shift)
        return self._ask(_DISTANCE, _core.closest_point, points, shape, (rows, most), True, threads, stream, out)

    @overload
    def within(self, points: HostArray, radius: AnyArray, result: Number, **how: "Unpack[PointOptionsAndOut]"
               ) -> np.ndarray: ...
    @overload
    def within(self, points: HostArray, radius: AnyArray, result: Literal["list"] = ...,
               **how: "Unpack[PointOptions]") -> tuple[np.ndarray, np.ndarray]: ...
    @overload
    def within(self, points: Array, radius: Any, result: Number, **how: "Unpack[PointOptionsAndOut]") -> Array: ...
    @overload
    def within(self, points: Array, radius: Any, result: Literal["list"] = ..., **how: "Unpack[PointOptions]"
               ) -> tuple[Array, Array]: ...
    def within(self, points: AnyArray, radius: AnyArray, result: str = "list", *, threads: int = 0,
               stream: Any = None, out: Any = None) -> Any:
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
        return self._ask(_numbers(result, out), _core.within, points, shape, (rows, radii), result, threads, stream, out)

    @overload
    def overlaps(self, boxes: HostArray, result: Number, **how: "Unpack[PointOptionsAndOut]") -> np.ndarray: ...
    @overload
    def overlaps(self, boxes: HostArray, result: Literal["list"] = ..., **how: "Unpack[PointOptions]"
                 ) -> tuple[np.ndarray, np.ndarray]: ...
    @overload
    def overlaps(self, boxes: Array, result: Number, **how: "Unpack[PointOptionsAndOut]") -> Array: ...
    @overload
    def overlaps(self, boxes: Array, result: Literal["list"] = ..., **how: "Unpack[PointOptions]"
                 ) -> tuple[Array, Array]: ...
    def overlaps(self, boxes: AnyArray, result: str = "list", *, threads: int = 0, stream: Any = None,
                 out: Any = None) -> Any:
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
        return self._ask(_numbers(result, out), _core.overlaps, boxes, shape[:-2], (corners[:, 0], corners[:, 1]),
                         result, threads, stream, out)

    def _ask(self, kinds, function, original, shape, inputs, choice, threads, stream, out=None):
        """The results of a function of the compiled module, those of ``kinds`` in the shape of the points."""
        rows = None
        if out is not None:
            rows, inputs = _arrays.outs(out if len(kinds) > 1 else (out,), kinds, shape, inputs)
        how = _arrays.thread_count(threads), _arrays.stream_handle(stream), rows
        found = function(self._tree, *inputs, choice, how)
        if out is not None:
            return out
        found = tuple(_arrays.like(original, array) for array in found)
        if kinds is None:
            return found
        found = tuple(array.reshape(shape + rest) for array, (_, _, rest) in zip(found, kinds))
        return found if len(found) > 1 else found[0]


class DistanceCalls(PointCalls):
    """The same, and the sides of the surface, which need the whole mesh."""

    _tree: _core.Tree

    @overload
    def signed_distance(self, points: HostArray, *, sign: Sign = ..., **how: "Unpack[PointOptionsAndOut]"
                        ) -> np.ndarray: ...
    @overload
    def signed_distance(self, points: Array, *, sign: Sign = ..., **how: "Unpack[PointOptionsAndOut]") -> Array: ...
    def signed_distance(self, points: AnyArray, *, sign: Sign = "normals", threads: int = 0,
                        stream: Any = None, out: Any = None) -> Any:
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
        return self._ask(_DISTANCE, _core.signed_distance, points, shape, (rows,), _by_normals(sign), threads,
                         stream, out)

    @overload
    def contains(self, points: HostArray, *, sign: Sign = ..., **how: "Unpack[PointOptionsAndOut]") -> np.ndarray: ...
    @overload
    def contains(self, points: Array, *, sign: Sign = ..., **how: "Unpack[PointOptionsAndOut]") -> Array: ...
    def contains(self, points: AnyArray, *, sign: Sign = "normals", threads: int = 0, stream: Any = None,
                 out: Any = None) -> Any:
        """Whether each point is inside the mesh, or on it: bool of the points' shape. ``sign`` as of
        ``signed_distance``.

        Example:
            >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
            >>> tree = heapwood.build(corners, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
            >>> tree.contains([[0.1, 0.1, 0.1], [1, 1, 1], [0, 0, 0]]).tolist(), tree.open_edges
            ([True, False, True], 0)
        """
        rows, _, shape = _arrays.points(points, 0.0, "", self._shift)
        return self._ask(_INSIDE, _core.contains, points, shape, (rows,), _by_normals(sign), threads, stream, out)

    @property
    def open_edges(self) -> int:
        """How many edges of the mesh do not join two triangles that wind alike, corners at the same position
        being one: 0 of a closed mesh, where signs by normals are right."""
        return _core.open_edges(self._tree)


def _by_normals(sign):
    if sign not in ("normals", "crossings"):
        raise ValueError(f"sign must be 'normals' or 'crossings', not {sign!r}")
    return sign == "normals"


def _numbers(result, out):
    """What ``within`` and ``overlaps`` have for each point; None: lists."""
    if result not in _NUMBERS:
        raise ValueError(f"result must be 'any', 'count' or 'list', not {result!r}")
    if result == "list" and out is not None:
        raise ValueError("out is for result='any' or 'count': how long lists are is not known before")
    return _NUMBERS[result]
